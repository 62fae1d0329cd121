"""Made sentences: one or two named things, what is said of each, with negation and statements that judge nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from absa_any_lists import GENERAL, Aspect
from absa_any_pairs import NOTHING_RIGHT, NOTHING_WRONG, OPPOSITE, compared, crossed

from weft.absa.records import NONE, Context, Sentence

THINGS = {
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
JOINTS = (", but ", ", while ", ". ", ", whereas ", "; ", ", and ", " and ", " - ", ", yet ", "! ")
_MIDDLING = (
    "average",
    "okay",
    "neither good nor bad",
    "nothing out of the ordinary",
    "what you would expect",
    "so-so",
)
_NOT = (
    "is not", "isn't", "was not", "wasn't", "is anything but", "is hardly", "was never", "is far from",
    "is by no means", "is never", "isn't exactly", "can't be called", "cannot be called", "does not seem",
    "didn't strike me as",
    "is not in the least", "is no longer", "was not at all", "isn't very", "is not too",
)  # fmt: skip
_HERE = re.compile(r" (?:of|at|in|with|from) \{X\}|^(?:at|in|with) \{X\},? ")
_VERY = ("", "", "", "very ", "really ", "so ", "quite ", "always ", "absolutely ")
_PLACES = ("eat", "hotel", "shop", "clinic", "city")
_NAMED = (
    "at {X} {}",
    "{X}: {}",
    "{X} - {}",
    "{}, and that at {X}",
    "at {X}, {}",
    "then there is {X}: {}",
    "in {X} {}",
)
_WITH = ("with {X} {}", "{X}: {}", "{X} - {}", "{}, that is {X}", "with {X}, {}", "then there is {X}: {}")


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
        if draw < 0.4:
            return self._single(kind, random, named=False)
        if draw < 0.5:
            return self._single(kind, random, named=True)
        return self._double(kind, random) if draw < 0.8 or kind == "person" else self._compared(kind, random)

    def _single(self, kind: str, random: Random, named: bool) -> Sentence:
        thing = random.choice(self.names[kind] if named else THINGS[kind])
        said = [
            self._say(aspect, None, random) for aspect in self._some(kind, random.choice((1, 1, 2)), random)
        ]
        text = _join([_filled(clause.words, thing, kind, named, random) for clause in said], random)
        target = thing if named and random.random() < 0.6 else None
        return Sentence(text, *self._ask(kind, {target: said}, random), "made")

    def _double(self, kind: str, random: Random) -> Sentence:
        first, second = self._two_names(kind, random)
        aspects = self._some(kind, 2, random)
        polarity = random.choice(("positive", "negative"))
        if random.random() < 0.75:
            one, two = self._contrast(aspects[0], polarity, random)
        else:
            one, two = self._say(aspects[0], polarity, random), self._say(aspects[-1], None, random)
        told = {first: [one], second: [two]}
        clauses = [
            _filled(one.words, first, kind, True, random),
            _filled(two.words, second, kind, True, random),
        ]
        if len(aspects) == 2 and random.random() < 0.2:
            more = self._say(aspects[1], None, random)
            if more.aspect is not two.aspect and more.aspect is not one.aspect:
                told[second].append(more)
                clauses.append(_filled(more.words, random.choice(THINGS[kind]), kind, False, random))
        return Sentence(_join(clauses, random), *self._ask(kind, told, random), "made")

    def _compared(self, kind: str, random: Random) -> Sentence:
        names = self._two_names(kind, random)
        able = [aspect for aspect in self.by_kind[kind] if aspect.good and aspect.names[0] != GENERAL]
        one, two = random.sample(able, 2)
        if random.random() < 0.15 and not one.near(two):
            text = crossed(_noun(one, random), _noun(two, random), names, random)
            told = {
                names[0]: [Said("", one, "positive"), Said("", two, "negative")],
                names[1]: [Said("", one, "negative"), Said("", two, "positive")],
            }
        else:
            words = random.choice(one.good), random.choice(one.bad)
            text, mine, theirs = compared(_noun(one, random), *words, names, random)
            told = {names[0]: [Said("", one, mine)], names[1]: [Said("", one, theirs)]}
        return Sentence(_join([text], random), *self._ask(kind, told, random), "made")

    def _two_names(self, kind: str, random: Random) -> tuple[str, str]:
        """Two names of which neither holds the other."""
        while True:
            first, second = random.sample(self.names[kind], 2)
            if first.lower() not in second.lower() and second.lower() not in first.lower():
                return first, second

    def _contrast(self, aspect: Aspect, polarity: str, random: Random) -> tuple[Said, Said]:
        other = OPPOSITE[polarity] if random.random() < 0.85 else polarity
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
        if aspect.good and (not sentences or short or random.random() < 0.4):
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
        # One wording for all targets, mostly: then nothing but the target tells the answers apart.
        worded = {id(aspect): aspect.asked(random) for aspect in self.by_kind[kind]}
        far = [
            aspect
            for aspect in self.by_kind[kind]
            if aspect.names[0] != GENERAL and not any(aspect.near(other) for other in every)
        ]
        for target, clauses in told.items():
            for said in clauses:
                same = random.random() < 0.85
                name = worded[id(said.aspect)] if same else said.aspect.asked(random)
                answers[Context(name, target)] = said.polarity
            own = [said.aspect for said in clauses]
            wrong = [a for a in every if not any(a.near(mine) for mine in own)]
            wrong += random.sample(far, min(len(far), 4 if len(told) == 1 else 2))
            for aspect in wrong:
                if aspect.names[0] != GENERAL:
                    answers.setdefault(Context(worded[id(aspect)], target), NONE)
        return tuple(answers), tuple(answers.values())


def _noun(aspect: Aspect, random: Random) -> str:
    """One of the aspect's short names, as a sentence uses it."""
    if aspect.names[0] == GENERAL:
        return "experience"
    return random.choice([name for name in aspect.names if len(name.split()) < 3])


def _filled(words: str, thing: str, kind: str, named: bool, random: Random) -> str:
    """The words said of a thing; where they do not name it and must, its name before or after them."""
    if "{X}" not in words and named:
        words = random.choice(_NAMED if kind in _PLACES else _WITH).replace("{}", words)
    elif not named and random.random() < 0.7:
        words = _HERE.sub("", words).replace("{X}'s ", "the ")
    return words.replace("{X}", thing)


def _described(aspect: Aspect, polarity: str, random: Random, short: bool) -> str:
    """The aspect's noun with a word for it; negated words turn it round."""
    noun = _noun(aspect, random)
    if short and polarity != "neutral":
        word = random.choice(aspect.good if polarity == "positive" else aspect.bad)
        return random.choice(("that of {X} is " + word, "{X}'s is " + word, "at {X} it is " + word))
    subject = random.choice(
        ("the " + noun + " of {X}", "{X}'s " + noun, "the " + noun + " at {X}", "with {X} the " + noun)
    )
    if polarity == "neutral":
        return f"{subject} is {random.choice(_MIDDLING)}"
    good, bad = random.choice(aspect.good), random.choice(aspect.bad)
    if random.random() < 0.25:
        return random.choice(NOTHING_WRONG if polarity == "positive" else NOTHING_RIGHT).replace("{n}", noun)
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
        text += random.choice(JOINTS) + clause
    return text[0].upper() + text[1:] + random.choice((".", ".", ".", "!", ""))
