"""Sentences that tell how something is without naming what they judge: "it ran into everything else in the basket".

Two lists beside the frames: ``told.txt``, one thing a sentence, and ``both.txt``, two named things. Names, wrong
questions and neighbours are drawn anew whenever a sentence comes up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from absa_any_lists import GENERAL, LISTS, Aspect
from absa_any_made import JOINTS, THINGS
from absa_any_pairs import OPPOSITE

from weft.absa.records import CONFLICT, NONE, UNKNOWN, Context, Sentence

POLARITY_OF = {"+": "positive", "-": "negative", "=": "neutral", "*": CONFLICT, "0": NONE, "?": UNKNOWN}
"""Nothing is learnt from what a reader may see one way or the other; it is only not asked as a wrong aspect."""
_UNCLEAR: dict[str, tuple[frozenset[str], ...]] = {
    kind: tuple(frozenset(group.split(", ")) for group in groups)
    for kind, groups in {
        "eat": (
            "food, portions, menu, drinks",
            "service, waiting time",
            "prices, portions",
            "atmosphere, noise, location",
        ),
        "hotel": (
            "room, bed, bathroom, cleanliness, noise, atmosphere, internet, facilities",
            "staff, check-in, waiting time, breakfast, cleanliness",
            "location, noise, parking",
        ),
        "device": (
            "quality, keyboard, screen, heat, camera, battery, sound, accessories, design, touchpad",
            "performance, software, heat, connectivity, ease of use, touchpad, keyboard",
            "customer support, delivery, packaging, accessories",
        ),
        "app": (
            "stability, performance, sync, features",
            "ease of use, design, features",
            "price, advertising, features",
        ),
        "shop": (
            "delivery, packaging, returns, staff, customer support",
            "quality, fit, packaging",
            "staff, waiting time, billing",
        ),
        "course": (
            "instructor, content, workload, audio",
            "content, usefulness, assignments",
            "assignments, workload, forum",
        ),
        "clinic": (
            "doctor, treatment, pain, nurses, staff",
            "reception, appointments, waiting time, staff",
            "parking, location",
        ),
        "city": (
            "quality of life, safety, noise, green nature",
            "nightlife, dining, noise",
            "location, public transport",
        ),
        "person": ("reliability, competence",),
    }.items()
}
"""Aspects of which a sentence about one may say something about another: neither is asked as a wrong one."""
_PLACED = (
    "At {A}: {1} At {B}: {2}",
    "{A}: {1} {B}: {2}",
    "{A} - {1} {B} - {2}",
    "First {A}. {1} Then {B}. {2}",
)
_BOTH = (" But ", " ", " ", " Still, ", " Then again: ", " On the other hand: ")
"""Between praise and blame of one thing."""
_OTHERS = 5
_WHERE = "told"


@dataclass(frozen=True)
class Told:
    """A sentence about ``{X}``, or about ``{A}`` and ``{B}``; what it says of each by the names of aspects."""

    kind: str
    text: str
    said: tuple[dict[str, str], ...]


def read_told(path: Path = LISTS / "told.txt") -> list[Told]:
    """Sentences about one thing; signs: + praise, - blame, = a fact, * both, 0 nothing, ? unclear."""
    return [
        Told(kind, text, ({part[:-1]: POLARITY_OF[part[-1]] for part in said},))
        for kind, said, text in _lines(path)
    ]


def read_both(path: Path = LISTS / "both.txt") -> list[Told]:
    """Sentences about two things."""
    found: list[Told] = []
    for kind, said, text in _lines(path):
        parts = [part.rsplit(" ", 1) for part in said]
        answers = tuple({name: POLARITY_OF[signs[place]] for name, signs in parts} for place in (0, 1))
        found.append(Told(kind, text, answers))
    return found


def _lines(path: Path) -> list[tuple[str, list[str], str]]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    split = [line.split(" | ", 2) for line in lines]
    return [(kind, said.split("; "), text) for kind, said, text in split]


@dataclass(frozen=True)
class Thing:
    """A kind of thing beside those of the frames: how one speaks of it, names, aspects, which are near each other."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    aspects: tuple[Aspect, ...]
    unclear: tuple[frozenset[str], ...]


def read_things(path: Path = LISTS / "things.txt") -> dict[str, Thing]:
    """Things that only told sentences speak of, by kind."""
    found: dict[str, Thing] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and line[0] != "#":
            kind, words, names, aspects, unclear = (part.strip() for part in line.split("|"))
            found[kind] = Thing(
                _parts(words),
                _parts(names),
                tuple(
                    Aspect(frozenset({kind}), _parts(said, ", "), (), frozenset())
                    for said in aspects.split("; ")
                ),
                tuple(frozenset(_parts(group, ", ")) for group in _parts(unclear)),
            )
    return found


def _parts(text: str, separator: str = "; ") -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(separator) if part.strip())


class Teller:
    """Draws sentences with their questions.

    Args:
        told: Sentences about one thing.
        both: Sentences about two.
        aspects: The list of aspects.
        names: Names by kind.
    """

    def __init__(
        self,
        told: Sequence[Told],
        both: Sequence[Told],
        aspects: Sequence[Aspect],
        names: dict[str, list[str]],
    ) -> None:
        things = read_things()
        self.told, self.both = told, both
        self.names = names | {kind: list(thing.names) for kind, thing in things.items()}
        self.words = THINGS | {kind: thing.words for kind, thing in things.items()}
        self.unclear = _UNCLEAR | {kind: thing.unclear for kind, thing in things.items()}
        self.by_kind = {
            kind: [a for a in aspects if kind in a.kinds and a.names[0] != GENERAL] for kind in names
        }
        self.by_kind |= {kind: list(thing.aspects) for kind, thing in things.items()}
        self.of_kind = {kind: [one for one in told if one.kind == kind] for kind in self.names}
        self._single: dict[tuple[str, str, str], list[Told]] = {}
        for one in told:
            if len(one.said[0]) == 1:
                ((name, polarity),) = one.said[0].items()
                self._single.setdefault((one.kind, name, polarity), []).append(one)

    def one(self, told: Told, random: Random) -> Sentence:
        """A sentence about one thing: alone, before another, or beside one that judges another thing."""
        draw = random.random()
        if draw < 0.25 and told.kind != "person":
            other = self._opposite(told, random)
            if other is not None:
                return self._placed(told, other, random)
        if 0.25 <= draw < 0.3 and told.kind != "person":
            other = self._opposite(told, random, always=True)
            if other is not None:
                return self._both_ways(told, other, random)
        named = "{X}" in told.text and random.random() < 0.5
        thing = random.choice(self.names[told.kind] if named else self.words[told.kind])
        text, said = _with(told.text, thing), dict(told.said[0])
        if draw > 0.75:
            other = random.choice(self.of_kind[told.kind])
            if not any(self._unsafe(told.kind, mine, theirs) for mine in said for theirs in other.said[0]):
                second = _with(other.text, random.choice(self.words[told.kind]))
                parts = [text, second]
                random.shuffle(parts)
                text, said = " ".join(parts), {**said, **other.said[0]}
        target = thing if named and random.random() < 0.7 else None
        return self._asked(told.kind, text, {target: said}, random)

    def several(self, told: Told, wanted: int, random: Random) -> Sentence:
        """A review of at most so many sentences about one thing; what one praises and another blames is torn."""
        kind = told.kind
        members, said = [told], dict(told.said[0])
        names = sorted({name for other in self.of_kind[kind] for name in other.said[0]} - said.keys())
        # What it is about: the other aspects of such a thing are not judged, however long it is.
        subject = {*said, *random.sample(names, min(len(names), random.randint(1, 5)))}
        for other in random.sample(self.of_kind[kind], len(self.of_kind[kind])):
            if len(members) == wanted or kind == "person":
                break
            theirs = other.said[0]
            if other is told or not theirs.keys() <= subject or self._apart(kind, said, theirs):
                continue
            if (
                any(said.get(name, theirs[name]) != theirs[name] for name in theirs)
                and random.random() < 0.85
            ):
                continue
            members.append(other)
            said = {
                **theirs,
                **said,
                **{name: _torn(said[name], theirs[name]) for name in said.keys() & theirs},
            }
        random.shuffle(members)
        named = any("{X}" in member.text for member in members) and random.random() < 0.4
        thing = random.choice(self.names[kind]) if named else None
        texts: list[str] = []
        for member in members:
            called = thing if thing and random.random() < 0.5 else random.choice(self.words[kind])
            text = _with(member.text, called)
            texts.append(text if text[-1] in ".!?" else text + ".")
        whole = " ".join(texts)
        target = thing if thing and thing in whole and random.random() < 0.5 else None
        asked: dict[str | None, dict[str, str]] = {target: said}
        return self._asked(kind, whole, asked, random, others=8)

    def _apart(self, kind: str, said: dict[str, str], theirs: dict[str, str]) -> bool:
        """Whether either may say something of an aspect that the other judges by another name."""
        return any(self._unsafe(kind, one, name) for one in said for name in theirs if one != name)

    def two(self, told: Told, random: Random) -> Sentence:
        """A sentence about two named things."""
        first, second = self._two_names(told.kind, random)
        text = _capital(told.text.replace("{A}", first).replace("{B}", second))
        return self._asked(told.kind, text, {first: told.said[0], second: told.said[1]}, random)

    def _both_ways(self, told: Told, other: Told, random: Random) -> Sentence:
        """Praise and blame of one aspect of one thing."""
        named = "{X}" in told.text + other.text and random.random() < 0.5
        thing = random.choice(self.names[told.kind] if named else self.words[told.kind])
        again = random.choice(self.words[told.kind])
        first, second = _with(told.text, thing), _with(other.text, again if "{X}" in told.text else thing)
        if first[-1] not in ".!?":
            first += "."
        target = thing if named and random.random() < 0.7 else None
        text = first + random.choice(_BOTH) + second
        said: dict[str | None, dict[str, str]] = {target: dict.fromkeys(told.said[0], CONFLICT)}
        return self._asked(told.kind, text, said, random)

    def _opposite(self, told: Told, random: Random, always: bool = False) -> Told | None:
        """Another sentence on the same aspect, mostly or always with the other opinion."""
        if len(told.said[0]) > 1:
            return None
        ((name, polarity),) = told.said[0].items()
        if polarity not in OPPOSITE or (always and polarity == "neutral"):
            return None
        wanted = OPPOSITE[polarity] if always or random.random() < 0.85 else polarity
        found = [one for one in self._single.get((told.kind, name, wanted), ()) if one is not told]
        return random.choice(found) if found else None

    def _placed(self, told: Told, other: Told, random: Random) -> Sentence:
        first, second = self._two_names(told.kind, random)
        if "{X}" in told.text and "{X}" in other.text and random.random() < 0.8:
            joint = random.choice(JOINTS)
            text = _with(told.text.rstrip(".!"), first) + joint + other.text.replace("{X}", second)
        else:
            frame = random.choice(_PLACED).replace("{A}", first).replace("{B}", second)
            text = frame.replace("{1}", _with(told.text, first)).replace("{2}", _with(other.text, second))
        said = {first: told.said[0], second: other.said[0]}
        return self._asked(told.kind, _capital(text), said, random)

    def _two_names(self, kind: str, random: Random) -> tuple[str, str]:
        while True:
            first, second = random.sample(self.names[kind], 2)
            if first.lower() not in second.lower() and second.lower() not in first.lower():
                return first, second

    def _asked(
        self,
        kind: str,
        text: str,
        told: dict[str | None, dict[str, str]],
        random: Random,
        others: int = _OTHERS,
    ) -> Sentence:
        every = sorted({name for said in told.values() for name in said})
        far = [a for a in self.by_kind[kind] if not any(self._unsafe_aspect(kind, name, a) for name in every)]
        wrong = [aspect.asked(random) for aspect in random.sample(far, min(len(far), others))]
        worded = {name: self._worded(kind, name, random) for name in every}
        if len(set(worded.values())) < len(every):
            worded = {name: name for name in every}
        answers: dict[Context, str] = {}
        for target, said in told.items():
            for name, polarity in said.items():
                answers[Context(worded[name], target)] = polarity
            for name in every:
                if name not in said and not any(self._unsafe(kind, name, mine) for mine in said):
                    answers[Context(worded[name], target)] = NONE
            for name in wrong if len(told) == 1 else random.sample(wrong, min(2, len(wrong))):
                answers.setdefault(Context(name, target), NONE)
        return Sentence(text, tuple(answers), tuple(answers.values()), _WHERE)

    def _worded(self, kind: str, name: str, random: Random) -> str:
        """The aspect in the words of one of the list's that have its name; else its name."""
        found = [aspect for aspect in self.by_kind[kind] if name in aspect.names]
        return random.choice(found).asked(random) if found and random.random() < 0.7 else name

    def _unsafe(self, kind: str, one: str, other: str) -> bool:
        return one == other or any(one in group and other in group for group in self.unclear[kind])

    def _unsafe_aspect(self, kind: str, name: str, aspect: Aspect) -> bool:
        if name in aspect.names or any(self._unsafe(kind, name, other) for other in aspect.names):
            return True
        return any(name in mine.names and mine.near(aspect) for mine in self.by_kind[kind])


def _torn(one: str, other: str) -> str:
    """What two sentences say of one aspect together."""
    if one == other or other == NONE:
        return one
    if one == NONE:
        return other
    return CONFLICT if {one, other} <= {"positive", "negative", CONFLICT} else UNKNOWN


def is_told(sentence: Sentence) -> bool:
    """Whether a teller drew this sentence."""
    return sentence.where == _WHERE


def _with(text: str, thing: str) -> str:
    return _capital(text.replace("{X}", thing))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
