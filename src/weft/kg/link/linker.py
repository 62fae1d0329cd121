"""Links a document to a dictionary of entities: given mentions, exact names, then near ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weft.errors import ConfigError
from weft.kg.link.dictionary import Dictionary, Match
from weft.kg.link.near import NearNames
from weft.kg.link.words import Words, fold, split_words
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import Entity


class Linker:
    """Finds the entities of a dictionary in documents.

    Args:
        entities: By number; given mentions of other entities are added at its end.
        near: Names are near from this Jaccard similarity of their 3-grams on; None for exact names alone.
        funnel: Counts and lists names that cannot be used, counts mentions by the way they were found,
            and notes near ones.

    Raises:
        ConfigError: ``near`` is no share.
    """

    def __init__(
        self, entities: Sequence[Entity], near: float | None = 0.5, funnel: Funnel | None = None
    ) -> None:
        if near is not None and not 0.0 <= near < 1.0:
            raise ConfigError(f"Linker.near is {near}; it must be in [0, 1)")
        self.entities = list(entities)
        self.funnel = funnel or Funnel()
        self._dictionary = Dictionary(self.entities, self.funnel)
        self._near = None if near is None else NearNames(self._dictionary.names, near)

    def link(self, document: TextDocument) -> TextDocument:
        """The document with mentions of the dictionary's entities.

        A document with given mentions keeps just these, each under the entity of its name.
        """
        counts = self.funnel.counts
        if document.mentions:
            counts["mentions given"] += len(document.mentions)
            return replace(document, mentions=tuple(map(self._given, document.mentions)))
        words = split_words(document.text)
        exact, passed_over = self._dictionary.find(words)
        counts["names over another name"] += len(passed_over)
        for inner, outer in passed_over:
            self.funnel.note(
                "names over another name", f"{self.entities[inner].name} in {self.entities[outer].name}"
            )
        others = self._dictionary.other_words(words)
        for place in others:
            name = self.entities[self._dictionary.names[words.folded[place]]].name
            self.funnel.note("words in small letters that are no name", f"{words.folded[place]}: {name}")
        counts["mentions by name"] += len(exact)
        found = exact
        if self._near is not None:
            taken = np.zeros(len(words.folded), dtype=bool)
            for match in exact:
                taken[match.first : match.stop] = True
            taken[others] = True
            near = self._near.find(words, taken)
            counts["mentions by a near name"] += len(near)
            for match in near:
                surface = document.text[words.starts[match.first] : words.ends[match.stop - 1]]
                self.funnel.note("near names", f"{surface} → {self.entities[match.entity].name}")
            found = sorted(exact + near)
        return replace(document, mentions=tuple(self._mention(match, words) for match in found))

    def _mention(self, match: Match, words: Words) -> Mention:
        entity = self.entities[match.entity]
        start, end = int(words.starts[match.first]), int(words.ends[match.stop - 1])
        return Mention(start, end, match.entity, entity.name, entity.type)

    def _given(self, mention: Mention) -> Mention:
        number = self._dictionary.entity_of(mention.name)
        if number is None and self._near is not None:
            found, _ = self._near.best(fold(mention.name))
            number = None if found < 0 else found
        if number is None:
            number = len(self.entities)
            self.entities.append(Entity(mention.name, mention.type))
            self._dictionary.names[fold(mention.name)] = number
        entity = self.entities[number]
        return mention._replace(entity=number, name=entity.name, type=mention.type or entity.type)
