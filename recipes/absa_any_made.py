"""Made sentences: one or two named things, what is said of each, with negation and statements that judge nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from absa_any_lists import GENERAL, Aspect

from weft.absa.records import NONE, Context, Sentence

_IT = {
    "eat": ("this place", "it", "the restaurant", "this restaurant"),
    "hotel": ("the hotel", "it", "this hotel", "the place"),
    "device": ("it", "the phone", "this laptop", "the thing", "this device", "the tablet", "the television"),
    "app": ("the app", "it", "this app", "the program"),
    "shop": ("this shop", "the shop", "it", "the store", "this seller"),
    "course": ("the course", "this course", "it", "the class"),
    "clinic": ("the clinic", "this practice", "it", "the hospital"),
    "city": ("the area", "this part of town", "it", "the neighbourhood"),
    "person": ("she", "he", "the new colleague", "my neighbour"),
}
_JOINTS = (", but ", ", while ", ". ", ", whereas ", "; ", ", and ", " and ", " - ", ", yet ", "! ")
_MIDDLING = (
    "average",
    "okay",
    "neither good nor bad",
    "nothing out of the ordinary",
    "what you would expect",
    "so-so",
)
_NOT = ("is not", "isn't", "was not", "wasn't", "is anything but", "is hardly", "was never", "is far from")
_VERY = ("", "", "", "very ", "really ", "so ", "quite ", "always ", "absolutely ")
_OPPOSITE = {"positive": "negative", "negative": "positive", "neutral": "neutral"}


@dataclass(frozen=True)
class Said:
    """A clause about one thing."""

    words: str
    aspect: Aspect
    polarity: str


class Maker:
    """Makes labelled sentences.

    Args:
        aspects: What can be said of things.
        names: Names of things, by kind.
    """

    def __init__(self, aspects: Sequence[Aspect], names: dict[str, list[str]]) -> None:
        self.aspects, self.names = aspects, names
        self.by_kind = {kind: [a for a in aspects if kind in a.kinds] for kind in names}

    def __call__(self, random: Random) -> Sentence:
        """One sentence with its questions and answers."""
        kind = random.choice(list(self.names))
        draw = random.random()
        if draw < 0.3:
            return self._single(kind, random, named=False)
        return self._single(kind, random, named=True) if draw < 0.45 else self._double(kind, random)

    def _single(self, kind: str, random: Random, named: bool) -> Sentence:
        thing = random.choice(self.names[kind] if named else _IT[kind])
        said = [
            self._say(aspect, None, random) for aspect in self._some(kind, random.choice((1, 1, 2)), random)
        ]
        text = _join([clause.words.replace("{X}", thing) for clause in said], random)
        target = thing if named and random.random() < 0.6 else None
        return Sentence(text, *self._ask(kind, {target: said}, random), "made")

    def _double(self, kind: str, random: Random) -> Sentence:
        first, second = random.sample(self.names[kind], 2)
        aspects = self._some(kind, 2, random)
        polarity = random.choice(("positive", "negative"))
        if random.random() < 0.65:
            one, two = self._contrast(aspects[0], polarity, random)
        else:
            one, two = self._say(aspects[0], polarity, random), self._say(aspects[-1], None, random)
        told = {first: [one], second: [two]}
        clauses = [one.words.replace("{X}", first), two.words.replace("{X}", second)]
        if len(aspects) == 2 and random.random() < 0.2:
            more = self._say(aspects[1], None, random)
            if more.aspect is not two.aspect:
                told[second].append(more)
                clauses.append(more.words.replace("{X}", second))
        return Sentence(_join(clauses, random), *self._ask(kind, told, random), "made")

    def _contrast(self, aspect: Aspect, polarity: str, random: Random) -> tuple[Said, Said]:
        other = _OPPOSITE[polarity] if random.random() < 0.85 else polarity
        return self._say(aspect, polarity, random), self._say(
            aspect, other, random, short=random.random() < 0.4
        )

    def _some(self, kind: str, count: int, random: Random) -> list[Aspect]:
        chosen: list[Aspect] = []
        for aspect in random.sample(self.by_kind[kind], len(self.by_kind[kind])):
            if len(chosen) < count and not any(aspect.near(other) for other in chosen):
                chosen.append(aspect)
        return chosen

    def _say(self, aspect: Aspect, polarity: str | None, random: Random, short: bool = False) -> Said:
        if polarity is None:
            polarity = random.choices(("positive", "negative", "neutral"), (4, 4, 2))[0]
        sentences = aspect.said.get(polarity, [])
        if aspect.good and (not sentences or short or random.random() < 0.45):
            return Said(_described(aspect, polarity, random, short), aspect, polarity)
        if not sentences:
            polarity = next(iter(aspect.said))
            sentences = aspect.said[polarity]
        return Said(random.choice(sentences), aspect, polarity)

    def _ask(
        self, kind: str, told: dict[str | None, list[Said]], random: Random
    ) -> tuple[tuple[Context, ...], tuple[str, ...]]:
        answers: dict[Context, str] = {}
        every = [said.aspect for clauses in told.values() for said in clauses]
        for target, clauses in told.items():
            for said in clauses:
                answers[Context(said.aspect.asked(random), target)] = said.polarity
            own = [said.aspect for said in clauses]
            wrong = [a for a in every if not any(a.near(mine) for mine in own)]
            far = [
                aspect
                for aspect in self.by_kind[kind]
                if aspect.names[0] != GENERAL and not any(aspect.near(other) for other in every)
            ]
            wrong += random.sample(far, min(len(far), 3 if len(told) == 1 else 1))
            for aspect in wrong:
                if aspect.names[0] != GENERAL:
                    answers.setdefault(Context(aspect.asked(random), target), NONE)
        return tuple(answers), tuple(answers.values())


def _described(aspect: Aspect, polarity: str, random: Random, short: bool) -> str:
    """The aspect's noun with a word for it; negated words turn it round."""
    noun = random.choice([name for name in aspect.names if len(name.split()) < 3])
    if noun == GENERAL:
        noun = "experience"
    if short and polarity != "neutral":
        word = random.choice(aspect.good if polarity == "positive" else aspect.bad)
        return random.choice(("that of {X} is " + word, "{X}'s is " + word, "at {X} it is " + word))
    subject = random.choice(
        ("the " + noun + " of {X}", "{X}'s " + noun, "the " + noun + " at {X}", "with {X} the " + noun)
    )
    if polarity == "neutral":
        return f"{subject} is {random.choice(_MIDDLING)}"
    good, bad = random.choice(aspect.good), random.choice(aspect.bad)
    if random.random() < 0.4:
        turned = bad if polarity == "positive" else good
        return f"{subject} {random.choice(_NOT)} {turned}"
    word = good if polarity == "positive" else bad
    if random.random() < 0.3:
        return "{X} has " + f"{word} {noun}"
    return f"{subject} {random.choice(('is', 'was', 'is'))} {random.choice(_VERY)}{word}"


def _join(clauses: Sequence[str], random: Random) -> str:
    text = clauses[0]
    for clause in clauses[1:]:
        text += random.choice(_JOINTS) + clause
    return text[0].upper() + text[1:] + random.choice((".", ".", ".", "!", ""))
