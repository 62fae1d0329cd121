"""Sentences about many kinds of things, put together from lists: although and but, two named things, negation.

``absa_any/kinds.txt`` lists some sixty kinds of things with their aspects and the words that praise and blame each.
What a sentence says of which thing follows from how it was put together.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from random import Random

from absa_any_lists import LISTS
from absa_any_pairs import OPPOSITE

from weft.absa.records import NONE, Context, Sentence

_TWO = (
    "The {n} of {A} {be} {1}, {that} of {B} {be} {2}.",
    "The {n} of {A} {be} {1} but {that} of {B} {2}.",
    "{A}'s {n} {be} {1}, while {B}'s {be} {2}.",
    "{A}'s {n} {be} {1}; {B}'s {be} {2}.",
    "With {A} the {n} {be} {1}, with {B} {it} {be} {2}.",
    "With {A} the {n} {be} {1}. Not so with {B}: {2}.",
    "Although {A}'s {n} {be} {1}, {that} of {B} {be} {2}.",
    "{A}'s {n} {be} {1}, whereas I found {that} of {B} {2}.",
    "Unlike {A}, whose {n} {be} {1}, {B} was {2} in that respect.",
    "As for the {n}, {A} is {1} and {B} is {2}.",
    "First {A}: the {n} {be} {1}. Then {B}: the {n} {be} {2}.",
    "{A}: {n} {1}. {B}: {n} {2}.",
    "I tried both. The {n}? {A} {1}, {B} {2}.",
    "Having known {A}, whose {n} {be} {1}, I was struck by {B}: {it} {be} {2}.",
    "In {A} everyone calls the {n} {1} and in {B} {2}.",
    "My sister finds the {n} of {A} {1} and the {n} of {B} {2}.",
    "{A} has {n} that {be} {1}, and {B} has {n} that {be} {2}.",
)
_BETTER = (
    "I left {B} for {A}: the {n} {be} {1} there and {2} before.",
    "I prefer {A} to {B}, for its {n} {be} {1} and not {2}.",
    "{B} could learn from {A}, where the {n} {be} {1} instead of {2}.",
    "Choose {A} for the {n}; {B} is {2}.",
    "{A} beats {B} when it comes to {n}: {1} against {2}.",
)
"""Of these ``{A}`` is the one that is praised."""
_JOINED = (
    "{p} although {q}.", "although {q}, {p}.", "{p}, but {q}.", "{p}, even if {q}.", "{p}, even though {q}.",
    "while {q}, {p}.", "{p}; {q}.", "{p}, whereas {q}.", "{p} and {q}.", "{p}. {q}.", "{p}, yet {q}.",
    "{p}, though {q}.", "even though {q}, {p}.", "{p} - {q}.", "{q}. Still, {p}.", "{p}, however {q}.",
)  # fmt: skip
_SAID = (
    "the {n} {be} {w}", "the {n} {be} {w}", "I found the {n} {w}", "the {n} of {X} {be} {w}", "{X}'s {n} {be} {w}",
    "the {n} struck me as {w}", "I would call the {n} {w}", "we thought the {n} {w}", "with {X} the {n} {be} {w}",
)  # fmt: skip
_NEGATED = (
    "the {n} {be} not {w}", "the {n} {be}n't {w}", "the {n} {be} anything but {w}", "I would not call the {n} {w}",
    "nobody can say that the {n} {be} {w}", "the {n} {be} hardly {w}", "the {n} {be} never {w}",
    "the {n} {be} by no means {w}", "I did not find the {n} {w}", "the {n} {be} far from {w}",
)  # fmt: skip
_PLAIN = (
    "the {n} {be} average",
    "the {n} {be} so-so",
    "I have not looked at the {n} yet",
    "we asked about the {n}",
)
_NEVER_DENIED = ("a ", "an ", "better ", "worse ", "more ", "second ", "beyond ", "below ", "just ", "back ")
_GROUPS = tuple(
    frozenset(words.split())
    for words in (
        "staff service employees crew drivers advice lifeguards instructors school support communication teachers "
        "sellers bartender colleagues boss management handling explanations speakers talks knowledge honesty",
        "seats seating comfort straps padding cushioning fit seat handle grip size cushion sleeves",
        "prices cost fees rent bill price pay salary subscription deposit ink cartridges commission paywall value",
        "cleanliness hygiene toilets showers rooms enclosures bathroom lockers tidiness thoroughness cleaning water",
        "durability build material fabric zips zippers zip stand door hinges shelves drawers jug poles lens sole soles "
        "leather stability cloth frames pieces figures wheels connection blades",
        "design look layout artwork interface menus app software display screen colour colours picture pictures photos "
        "overview hall venue buildings interior decor cut costumes scenery house lighting light view",
        "noise sound acoustics bass treble music atmosphere mood volume neighbours crowds",
        "delivery speed waiting turnaround punctuality checkout queue queues wait pick-up organisation planning "
        "schedule repairs repair availability reachability viewings",
        "taste flavour smell aroma nose coffee food buffet catering cakes cake cocktails drinks texture finish "
        "aftertaste nuts ingredients crunch leaves filling popcorn snacks meat vegetables bread canteen portions beer",
        "choice selection collection books catalogue library articles stalls films set songs produce flowers",
        "plot story script text dialogue writing ending pacing pace acting cast directing direction characters singer",
        "controls instructions manual buttons setup installation rules knobs threading folding programmes",
        "heat cooling temperature power motor torque energy battery brightness range signal spin",
        "location parking paths path signs surface trail slopes snow lifts garden park beach",
    )
)


@dataclass(frozen=True)
class Judged:
    """An aspect of a kind of thing, and the words that praise and blame it."""

    names: tuple[str, ...]
    words: dict[str, tuple[str, ...]]

    def beside(self, other: Judged) -> bool:
        """Whether nothing that is said of one could be meant of the other."""
        mine, theirs = _words(self), _words(other)
        return not (mine & theirs or any(mine & group and theirs & group for group in _GROUPS))


def _words(judged: Judged) -> set[str]:
    return {word for name in judged.names for word in name.split()}


@dataclass(frozen=True)
class Thing:
    """A kind of thing: how one speaks of it, names, aspects."""

    kind: str
    words: tuple[str, ...]
    names: tuple[str, ...]
    aspects: tuple[Judged, ...]


class Kinds:
    """Makes labelled sentences about many kinds of things.

    Args:
        path: The list.
        without: Kinds that no sentence is about.
    """

    def __init__(self, path: Path = LISTS / "kinds.txt", without: Collection[str] = ()) -> None:
        self.always: dict[str, tuple[str, ...]] = {}
        self.things: list[Thing] = []
        bank: dict[str, Judged] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line or line[0] == "#":
                continue
            if line[0] == "*":
                self.always["negative" if self.always else "positive"] = _split(line[1:], ",")
            elif line[0] == "@":
                names, good, bad = line[1:].split("|")
                judged = _judged(names, good, bad)
                bank[judged.names[0]] = judged
            else:
                kind, words, names, aspects = line.split(" | ")
                if kind in without:
                    continue
                said = [
                    bank[part[1:]] if part[0] == "@" else _judged(*re.split("[:/]", part, maxsplit=2))
                    for part in _split(aspects, ";")
                ]
                self.things.append(Thing(kind, _split(words, ";"), _split(names, ";"), tuple(said)))

    def __call__(self, random: Random) -> Sentence:
        """One sentence with its questions and answers."""
        thing = random.choice(self.things)
        draw = random.random()
        if draw < 0.45:
            return self._two(thing, random)
        named = random.random() < 0.3
        target = random.choice(thing.names) if named else None
        called = target or random.choice(
            [word for word in thing.words if word not in ("it", "they", "he", "she")]
        )
        aspects = _apart(thing, 2, random)
        first = random.choice(("positive", "negative"))
        told: dict[str | None, list[tuple[Judged, str]]] = {target: [(aspects[0], first)]}
        if draw < 0.8 and len(aspects) > 1:
            second = OPPOSITE[first] if random.random() < 0.8 else first
            told[target].append((aspects[1], second))
            p, q = (self._said(judged, polarity, called, random) for judged, polarity in told[target])
            text = random.choice(_JOINED).replace("{p}", p).replace("{q}", q)
        elif draw < 0.94:
            text = self._said(aspects[0], first, called, random) + "."
        else:
            told = {target: [(aspects[0], "neutral")]}
            text = _filled(random.choice(_PLAIN), aspects[0].names[0], called, "", random) + "."
        if target is not None and target not in text:
            told = {None: told[target]}
        return self._asked(thing, text, told, random)

    def _two(self, thing: Thing, random: Random) -> Sentence:
        one, two = random.sample(thing.names, 2)
        aspects = _apart(thing, 2, random)
        polarity = random.choice(("positive", "negative"))
        other = OPPOSITE[polarity] if random.random() < 0.9 else polarity
        if len(aspects) > 1 and random.random() < 0.25:
            said = [
                self._said(judged, opinion, name, random, ("{X}'s {n} {be} {w}", "the {n} of {X} {be} {w}"))
                for judged, opinion, name in ((aspects[0], polarity, one), (aspects[1], other, two))
            ]
            text = random.choice(_JOINED).replace("{p}", said[0]).replace("{q}", said[1])
            return self._asked(
                thing, text, {one: [(aspects[0], polarity)], two: [(aspects[1], other)]}, random
            )
        better = other != polarity and random.random() < 0.25
        if better and polarity == "negative":
            polarity, other = other, polarity
        noun = random.choice(aspects[0].names)
        text = random.choice(_BETTER if better else _TWO)
        for mark, opinion in (("{1}", polarity), ("{2}", other)):
            text = text.replace(mark, self._word(aspects[0], opinion, random))
        text = _filled(text, noun, "", "", random).replace("{A}", one).replace("{B}", two)
        return self._asked(thing, text, {one: [(aspects[0], polarity)], two: [(aspects[0], other)]}, random)

    def _word(self, judged: Judged, polarity: str, random: Random) -> str:
        own = judged.words[polarity]
        return random.choice(own if own and random.random() < 0.55 else self.always[polarity])

    def _said(
        self, judged: Judged, polarity: str, called: str, random: Random, forms: tuple[str, ...] = _SAID
    ) -> str:
        turned = self._word(judged, OPPOSITE[polarity], random)
        if forms is _SAID and random.random() < 0.25 and not turned.startswith(_NEVER_DENIED):
            return _filled(random.choice(_NEGATED), random.choice(judged.names), called, turned, random)
        word = self._word(judged, polarity, random)
        if " " not in word and random.random() < 0.3:
            word = random.choice(("very ", "really ", "simply ", "rather ", "absolutely ", "so ")) + word
        return _filled(random.choice(forms), random.choice(judged.names), called, word, random)

    def _asked(
        self, thing: Thing, text: str, told: dict[str | None, list[tuple[Judged, str]]], random: Random
    ) -> Sentence:
        every = [judged for said in told.values() for judged, _ in said]
        far = [judged for judged in thing.aspects if all(judged.beside(other) for other in every)]
        wrong = [random.choice(judged.names) for judged in random.sample(far, min(len(far), 3))]
        worded = {judged.names: random.choice(judged.names) for judged in every}
        answers: dict[Context, str] = {}
        for target, said in told.items():
            mine = [judged for judged, _ in said]
            for judged, polarity in said:
                answers[Context(worded[judged.names], target)] = polarity
            for judged in every:
                if all(judged.beside(other) for other in mine):
                    answers.setdefault(Context(worded[judged.names], target), NONE)
            for name in wrong if len(told) == 1 else wrong[:1]:
                answers.setdefault(Context(name, target), NONE)
        return Sentence(_capital(text), tuple(answers), tuple(answers.values()), "kinds")


def _apart(thing: Thing, count: int, random: Random) -> list[Judged]:
    chosen: list[Judged] = []
    for judged in random.sample(thing.aspects, len(thing.aspects)):
        if len(chosen) < count and all(judged.beside(other) for other in chosen):
            chosen.append(judged)
    return chosen


def _filled(form: str, noun: str, called: str, word: str, random: Random) -> str:
    many = noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
    be = random.choice(("are", "were") if many else ("is", "was"))
    parts = {"{n}": noun, "{be}": be, "{that}": "those" if many else "that", "{it}": "they" if many else "it"}
    for mark, filler in {**parts, "{X}": called, "{w}": word}.items():
        form = form.replace(mark, filler)
    return form


def _capital(text: str) -> str:
    return re.sub(r"(^|[.?] )([a-z])", lambda match: match[1] + match[2].upper(), text)


def _judged(names: str, good: str, bad: str) -> Judged:
    return Judged(_split(names, ","), {"positive": _split(good, ","), "negative": _split(bad, ",")})


def _split(text: str, separator: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(separator) if part.strip())
