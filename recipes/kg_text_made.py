"""Made texts: short documents of many kinds, with their mentions and facts, put together from sentences with blanks.

What is not said to be a fact is none: half of the sentences state nothing between the names in them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from kg_text_names import Thing, Things

from weft.kg.read.documents import GivenFact, Mention, TextDocument

HERE = Path(__file__).parent / "kg_text_small"
_BLANK = re.compile(r"\{(\w)(?:\.(\w+))?(?::(\w+))?\}")
_MOST = 6
"""Sentences of one part of a made text."""
_PARTS = (1, 1, 2, 2, 3, 4)
"""Parts of a text, about different things."""
_FEW = (1, 1, 1, 2, 2, 3)
"""Sentences of a plain text."""
INVERSE: Mapping[str, str] = {
    "parent_organization": "subsidiary",
    "part_of": "has_part",
    "follows": "followed_by",
    "replaces": "replaced_by",
    "capital_of": "capital",
    "participant": "participant_of",
    "characters": "present_in_work",
    "spouse": "spouse",
    "sibling": "sibling",
    "author": "notable_work",
    "director": "notable_work",
    "performer": "notable_work",
}
"""What follows for tail and head, as Re-DocRED states it."""
_PRONOUNS = {"he": ("he", "she"), "He": ("He", "She"), "his": ("his", "her"), "His": ("His", "Her")}


def with_what_follows(stated: Collection[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Facts of head, relation, tail, and those that follow from them, as Re-DocRED states them."""
    found = set(stated)
    for head, relation, tail in stated:
        if relation == "headquarters":
            found.add((head, "located_in", tail))
        if relation in INVERSE:
            found.add((tail, INVERSE[relation], head))
        if relation in ("father", "mother"):
            found.add((tail, "child", head))
    return found


@dataclass(frozen=True)
class Scene:
    """Blanks and the sentences that have them.

    Args:
        blanks: Letter to kind.
        groups: Of sentences with their facts.
    """

    blanks: Mapping[str, str]
    groups: Sequence[Sequence[tuple[str, str]]]


@dataclass
class _Text:
    """A text in the making."""

    text: str = ""
    numbers: dict[str, int] = field(default_factory=dict)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    places: list[tuple[int, int, str]] = field(default_factory=list)

    def name(self, key: str, surface: str, kind: str) -> None:
        """Write a name."""
        start = len(self.text)
        self.text += surface
        self.numbers.setdefault(key, len(self.numbers))
        self.names.setdefault(key, (surface, kind))
        self.places.append((start, len(self.text), key))


def read_scenes(path: Path = HERE / "texts.txt") -> list[Scene]:
    """The sentences with blanks."""
    scenes = []
    for block in path.read_text(encoding="utf-8").split("@")[1:]:
        head, _, body = block.partition("\n")
        blanks = dict(item.split("=") for item in head.split()[1:])
        groups = []
        for part in body.split("\n\n"):
            rows = [line.partition(" |") for line in part.splitlines() if line.strip()]
            if rows:
                groups.append([(text.strip(), facts.strip(" |")) for text, _, facts in rows])
        scenes.append(Scene(blanks, groups))
    return scenes


class Maker:
    """Makes texts.

    Args:
        scenes: What is said.
        names: Kind to names.
        random: Draws.
        more: Further names by kind, such as those of real texts.
        names: The lists.
        coined: How often a company is a coined word or one of the further names.
    """

    def __init__(
        self,
        scenes: Sequence[Scene],
        random: Random,
        more: Mapping[str, Sequence[str]] | None = None,
        names: Path = HERE / "names.txt",
        coined: float = 0.0,
    ) -> None:
        self.scenes, self.random = scenes, random
        self.thing = Things(names, random, more, coined)

    def __call__(self, name: str) -> TextDocument:
        """One text."""
        random = self.random
        parts = [self._part(name) for _ in range(random.choice(_PARTS))]
        between = random.choice((" ", "\n", "\n\n"))
        text, mentions, facts = "", list[Mention](), list[GivenFact]()
        for part in parts:
            text += between if text else ""
            first = max((mention.entity for mention in mentions), default=-1) + 1
            mentions += [
                item._replace(
                    start=item.start + len(text), end=item.end + len(text), entity=item.entity + first
                )
                for item in part.mentions
            ]
            facts += [GivenFact(fact.head + first, fact.relation, fact.tail + first) for fact in part.facts]
            text += part.text
        return TextDocument(name, text, tuple(mentions), tuple(facts))

    def plain(self, name: str) -> TextDocument:
        """One text of a sentence or two, which need not name what they speak of."""
        random = self.random
        scene = random.choice(self.scenes)
        sentences = [sentence for group in scene.groups for sentence in group]
        return self._write(name, scene, random.sample(sentences, min(random.choice(_FEW), len(sentences))))

    def _part(self, name: str) -> TextDocument:
        random = self.random
        scene = random.choice(self.scenes)
        sentences = [
            random.choice(group) for group in scene.groups for _ in range(random.choice((1, 1, 2, 2)))
        ]
        sentences = list(dict.fromkeys(sentences))
        if random.random() < 0.3:
            random.shuffle(sentences)
        return self._write(name, scene, sentences[:_MOST])

    def _write(self, name: str, scene: Scene, sentences: Sequence[tuple[str, str]]) -> TextDocument:
        random, written = self.random, _Text()
        things = {letter: self.thing(kind) for letter, kind in scene.blanks.items()}
        stated: set[tuple[str, str, str]] = set()
        joint = random.choice((" ", " ", " ", "\n", "\n\n"))
        for number, (sentence, facts) in enumerate(sentences):
            self._sentence(written, things, sentence, joint if number else "")
            for fact in filter(None, (item.strip() for item in facts.split(";"))):
                head, relation, tail = fact.split(" ", 2)
                stated.add((head, relation, self._outside(written, tail)))
        if random.random() < 0.1:
            written.text = written.text.rstrip(".")
        keys = written.numbers
        for letter, thing in things.items():
            for relation in ("country", "located_in"):
                if thing.country[0] and thing.type == "LOC":
                    stated.add((letter, relation, f"{letter}.n"))
        stated = with_what_follows(stated)
        return TextDocument(
            name,
            written.text,
            tuple(
                sorted(
                    Mention(start, end, keys[key], *written.names[key]) for start, end, key in written.places
                )
            ),
            tuple(
                sorted(
                    GivenFact(keys[head], relation, keys[tail])
                    for head, relation, tail in stated
                    if head in keys and tail in keys
                )
            ),
        )

    @staticmethod
    def _outside(written: _Text, tail: str) -> str:
        """A name that stands in the sentence itself, ``#name/TYPE``."""
        if not tail.startswith("#"):
            return tail
        name, _, kind = tail[1:].partition("/")
        start = written.text.rfind(name)
        if (start, start + len(name), tail) not in written.places:
            written.numbers.setdefault(tail, len(written.numbers))
            written.names.setdefault(tail, (name, kind))
            written.places.append((start, start + len(name), tail))
        return tail

    def _sentence(self, written: _Text, things: Mapping[str, Thing], sentence: str, joint: str) -> None:
        written.text += joint
        at = 0
        for blank in _BLANK.finditer(sentence):
            written.text += sentence[at : blank.start()]
            at = blank.end()
            letter, part, form = blank.groups()
            thing = things[letter]
            if form in _PRONOUNS and letter in written.numbers:
                written.text += _PRONOUNS[form][thing.female]
                continue
            if form in ("his", "His"):
                written.name(letter, f"{thing.name}'s", thing.type)
                start, end, key = written.places[-1]
                written.places[-1] = (start, end - 2, key)
                written.names[letter] = (thing.name, thing.type)
                continue
            name = thing.country[part == "adj"] if part else thing.name
            if name[0] in "AEIOU" and written.text.endswith((" a ", "A ")):
                written.text = f"{written.text[:-1]}n "
            if part:
                written.name(f"{letter}.n", name, "LOC")
                continue
            short = thing.short and letter in written.numbers and self.random.random() < 0.6
            written.name(letter, thing.short if short else thing.name, thing.type)
        written.text += sentence[at:]
