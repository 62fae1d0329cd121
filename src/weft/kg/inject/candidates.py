"""Step 1: every seed triple in every chunk that mentions its head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.kg.dataset.chunks import Chunk
from weft.kg.read.seeds import Entity, SeedTriple
from weft.kg.schema import Schema


@dataclass(frozen=True)
class Candidates:
    """Pairs of a chunk and a triple; c of them, by chunk and then by triple.

    A *head occurrence* is a head in a chunk: its first mention there stands for all.

    Args:
        chunk: ``(c,)`` int64 chunk numbers.
        triple: ``(c,)`` int64 numbers of seed triples.
        head: ``(c,)`` int64 the triple's head.
        relation: ``(c,)`` int64 its relation.
    """

    chunk: NDArray[np.int64]
    triple: NDArray[np.int64]
    head: NDArray[np.int64]
    relation: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.chunk)

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> Candidates:
        """Some of them, by index or by mask."""
        return Candidates(self.chunk[which], self.triple[which], self.head[which], self.relation[which])


def match_heads(chunks: Sequence[Chunk], triples: Sequence[SeedTriple], usable: Iterable[int]) -> Candidates:
    """All pairs of a chunk and a triple whose head the chunk mentions.

    Args:
        chunks: With their mentions.
        triples: The seed.
        usable: Which of its triples to look at, by number, ascending.
    """
    by_head: dict[int, list[int]] = {}
    for number in usable:
        by_head.setdefault(triples[number].head, []).append(number)
    pairs = [
        (number, triple)
        for number, chunk in enumerate(chunks)
        for entity in sorted({mention.entity for mention in chunk.mentions})
        for triple in by_head.get(entity, ())
    ]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    columns = np.array(triples, dtype=np.int64).reshape(-1, 3)
    return Candidates(table[:, 0], table[:, 1], columns[table[:, 1], 0], columns[table[:, 1], 1])


def triple_text(triple: SeedTriple, entities: Sequence[Entity], schema: Schema) -> str:
    """A triple in words, as it is compared with a chunk."""
    relation = schema.names[triple.relation].replace("_", " ")
    return f"{entities[triple.head].name} {relation} {entities[triple.tail].name}"
