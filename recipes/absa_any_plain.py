"""Sentences whose word tells by itself what is judged: "the menu is not expensive" is about the price, and praise.

Nothing names the aspect, and half of the words are denied: who is told that a thing is not expensive is told something
good. Words of praise and of blame stand as often said as denied, so that neither the word nor "not" gives the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from absa_any_lists import LISTS

from weft.absa.records import NONE, Context, Sentence

_JOINTS = (", but ", " and ", ". ", "; ", ", though ", ", yet ", ", and ", " but ", " - ", "! ")


@dataclass(frozen=True)
class Telling:
    """An aspect with words that tell it by themselves.

    Args:
        names: What it is called when it is asked for.
        said_of: What such words are said of.
        good: Words of praise.
        bad: Words of blame.
    """

    names: tuple[str, ...]
    said_of: tuple[str, ...]
    good: tuple[str, ...]
    bad: tuple[str, ...]


class Plain:
    """Makes sentences of one or two such words, half of them denied."""

    def __init__(self) -> None:
        groups: dict[str, tuple[str, ...]] = {}
        self.forms: dict[str, tuple[str, ...]] = {}
        self.telling: list[Telling] = []
        for line in (LISTS / "plain.txt").read_text(encoding="utf-8").splitlines():
            if line.startswith("["):
                name, _, words = line[1:].partition("] ")
                groups[f"[{name}]"] = _split(words, ",")
            elif line.startswith(("is: ", "not: ")):
                name, _, forms = line.partition(": ")
                self.forms[name] = _split(forms, "|")
            elif line and not line.startswith("#"):
                names, said_of, good, bad = (_split(part, ",") for part in line.split("|"))
                every = tuple(thing for item in said_of for thing in groups.get(item, (item,)))
                self.telling.append(Telling(names, every, good, bad))

    def __call__(self, random: Random) -> Sentence:
        """One sentence with its questions and answers."""
        first = random.choice(self.telling)
        subject = random.choice(first.said_of)
        fitting = [one for one in self.telling if one is not first and subject in one.said_of]
        told = [first]
        if fitting and random.random() < 0.4:
            told.append(random.choice(fitting))
        clauses, answers = list[str](), dict[Context, str]()
        for number, telling in enumerate(told):
            polarity = random.choice(("positive", "negative"))
            clauses.append(self._clause(telling, subject if number == 0 else "it", polarity, random))
            answers[Context(random.choice(telling.names), None)] = polarity
        others = [one for one in self.telling if one not in told]
        far = [one for one in others if subject in one.said_of] or others
        for one in random.sample(far, min(len(far), 3)):
            answers.setdefault(Context(random.choice(one.names), None), NONE)
        text = random.choice(_JOINTS).join(clauses)
        for end in (". ", "! "):
            text = end.join(part[:1].upper() + part[1:] for part in text.split(end))
        text += random.choice((".", ".", "!", ""))
        return Sentence(text, tuple(answers), tuple(answers.values()), "plain")

    def _clause(self, telling: Telling, subject: str, polarity: str, random: Random) -> str:
        denied = random.random() < 0.5
        words = telling.good if (polarity == "positive") != denied else telling.bad
        word, other = random.choice(words), random.choice(words)
        forms = self.forms["not" if denied else "is"]
        form = random.choice([form for form in forms if word != other or "{v}" not in form])
        return form.replace("{s}", subject).replace("{w}", word).replace("{v}", other)


def _split(words: str, mark: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in words.split(mark))
