"""Exact links: every place where a text spells a name of the dictionary, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.kg.link.words import Words, fold
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import Entity


class Match(NamedTuple):
    """Words ``first : stop`` of a text that name an entity."""

    first: int
    stop: int
    entity: int


class Dictionary:
    """Names of entities.

    Names are found in letters of either case, but for one word in capitals, such as WHO: "who" in a text that has
    capitals is another word.

    Args:
        entities: By number.
        funnel: Counts and lists names that two entities share (the first has it) and names without a word.
    """

    def __init__(self, entities: Sequence[Entity], funnel: Funnel | None = None) -> None:
        funnel = funnel or Funnel()
        self.names: dict[str, int] = {}
        lengths: dict[str, set[int]] = {}
        capitals: dict[str, bool] = {}
        for number, entity in enumerate(entities):
            for name in entity.names:
                key = fold(name)
                in_capitals = " " not in key and len(key) > 1 and name.isupper()
                capitals[key] = capitals.get(key, True) and in_capitals
                if not key:
                    funnel.leave_out("names without a word", repr(name))
                elif self.names.setdefault(key, number) != number:
                    other = entities[self.names[key]].name
                    funnel.leave_out("names that two entities share", f"{name!r}: {other}; {entity.name}")
                else:
                    words = key.split(" ")
                    lengths.setdefault(words[0], set()).add(len(words))
        self._capitals = frozenset(key for key, found in capitals.items() if found)
        self._lengths = {word: sorted(found, reverse=True) for word, found in lengths.items()}

    def find(self, words: Words) -> tuple[list[Match], list[tuple[int, int]]]:
        """All occurrences of names in a text, longest first from left to right, none over another.

        Args:
            words: Of the text.

        Returns:
            Matches in order, and the names that were passed over because they lie inside or across a match:
            their entity and the match's.
        """
        folded, found, free = words.folded, list[Match](), 0
        passed_over: list[tuple[int, int]] = []
        for first, word in enumerate(folded):
            for length in self._lengths.get(word, ()):
                entity = self.names.get(" ".join(folded[first : first + length]), -1)
                if entity < 0 or first + length > len(folded):
                    continue
                if length == 1 and words.small[first] and word in self._capitals:
                    continue
                if first >= free:
                    found.append(Match(first, first + length, entity))
                    free = first + length
                elif entity != found[-1].entity:
                    passed_over.append((entity, found[-1].entity))
                break
        return found, passed_over

    def other_words(self, words: Words) -> list[int]:
        """The words of a text that read as a name in capitals does, and are in small letters."""
        small = np.flatnonzero(words.small).tolist() if self._capitals else []
        return [place for place in small if words.folded[place] in self._capitals]

    def entity_of(self, name: str) -> int | None:
        """The entity of that name; None where there is none."""
        return self.names.get(fold(name))
