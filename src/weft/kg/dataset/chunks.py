"""Units of text cut into chunks of at most R tokens, and the facts that each chunk can state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kg.dataset.tokens import NO_WORD, CodeTokenizer, Tokens, is_word


class ChunkTriple(NamedTuple):
    """One fact of a chunk.

    Args:
        head_word: Index of the head among the chunk's words.
        relation: Relation id.
        tail_ids: The tail's token ids.
        tail_word: Index of the tail among the chunk's words; 255 where it is not in the text.
        offset: Where in the document the fact stands.
        origin: 0 for the syntax tree, 1 for type stubs.
    """

    head_word: int
    relation: int
    tail_ids: tuple[int, ...]
    tail_word: int
    offset: int
    origin: int = 0


class ChunkMention(NamedTuple):
    """Where a chunk of text mentions an entity.

    Args:
        word: Index of the entity among the chunk's words.
        first: Index of the mention's first token in the chunk.
        length: Number of its tokens.
        entity: The entity's number.
        name: Its name.
        type: Its type; ``""`` where it is not known.
        start: Offset of the mention in the document.
        end: Offset after it.
        text: The mention as it stands there.
    """

    word: int
    first: int
    length: int
    entity: int
    name: str
    type: str
    start: int
    end: int
    text: str


@dataclass
class Chunk:
    """At most R tokens of one document.

    Args:
        ids: ``(n,)`` token ids.
        words: ``(n,)`` index into :attr:`names` of the word that each token is part of; 255 for none.
        names: The distinct words (identifiers, keywords, numbers), in order of appearance.
        starts: ``(n,)`` offset in the document of each token's first character.
        ends: ``(n,)`` offset after its last.
        triples: Facts.
        mentions: Entities in a chunk of text; none in code, where every identifier may be one.
        cases: ``(n,)`` letter case of the word of each token, in a chunk of text; None in code.
    """

    ids: NDArray[np.int64]
    words: NDArray[np.int64]
    names: list[str]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    triples: list[ChunkTriple] = field(default_factory=list)
    mentions: list[ChunkMention] = field(default_factory=list)
    cases: NDArray[np.int64] | None = None


class Cuts(NamedTuple):
    """How a unit is cut.

    Args:
        opening: Indices of the header's tokens, which open every piece after the first.
        bodies: First and last-but-one token of each piece.
        hard: How many cuts fell inside a statement.
    """

    opening: NDArray[np.int64]
    bodies: list[tuple[int, int]]
    hard: int

    def indices(self, number: int) -> NDArray[np.int64]:
        """Token indices of one piece."""
        body = np.arange(*self.bodies[number])
        return body if number == 0 else np.concatenate([self.opening, body])


def cut(tokens: Tokens, breaks: Sequence[int], header: tuple[int, int], size: int) -> Cuts:
    """Cut a unit's tokens at statement starts into pieces of at most ``size`` tokens.

    Every piece after the first opens with the tokens of ``header`` (``def name``), so that facts about
    the function can be stated in it.

    Args:
        tokens: The unit's tokens.
        breaks: Offsets at which statements start, ascending.
        header: Span of the header in the text.
        size: R.
    """
    inside = (tokens.starts >= header[0]) & (tokens.ends <= header[1])
    opening = np.flatnonzero(inside)[: size // 4]
    stops = np.searchsorted(tokens.starts, np.asarray(breaks, dtype=np.int64))
    bodies, start, hard, total = [], 0, 0, len(tokens)
    while start < total:
        stop = min(start + size - (len(opening) if start else 0), total)
        if stop < total:
            usable = stops[(stops > start) & (stops <= stop)]
            hard += len(usable) == 0
            stop = int(usable[-1]) if len(usable) else stop
        bodies.append((start, stop))
        start = stop
    return Cuts(opening, bodies, hard)


def make_chunk(text: str, tokens: Tokens, indices: NDArray[np.int64], sources: NDArray[np.int64]) -> Chunk:
    """One chunk from token indices.

    Args:
        text: The unit's text.
        tokens: Its tokens.
        indices: Which of them, in order.
        sources: ``(n, 2)`` span in the document of every token of the unit.
    """
    word = tokens.words[indices]
    first = np.ones(len(indices), dtype=bool)
    first[1:] = word[1:] != word[:-1]
    names: dict[str, int] = {}
    words = np.full(len(indices), NO_WORD, dtype=np.int64)
    edges = np.flatnonzero(np.append(first, True))
    for begin, end in pairwise(edges.tolist()):
        name = text[tokens.starts[indices[begin]] : tokens.ends[indices[end - 1]]]
        if is_word(name):
            words[begin:end] = names.setdefault(name, len(names))
    return Chunk(tokens.ids[indices], words, list(names), sources[indices, 0], sources[indices, 1])


def add_facts(
    chunk: Chunk,
    candidates: Iterable[tuple[str, int, str, int, int, int]],
    span: tuple[int, int],
    tokenizer: CodeTokenizer,
    longest_tail: int,
    counts: Counter[str],
) -> None:
    """Give a chunk the facts that stand inside it and whose head it names.

    Args:
        chunk: The chunk.
        candidates: ``(head, relation id, tail, place in the unit, offset in the document, origin)``.
        span: Offsets that the chunk covers, its header aside.
        tokenizer: Spells tails.
        longest_tail: K; longer tails are counted and left out.
        counts: Counts ``"triples"``, ``"tail too long"`` and ``"head not in chunk"``.
    """
    index = {name: number for number, name in enumerate(chunk.names)}
    for head, relation, tail, place, offset, origin in candidates:
        if not span[0] <= place < span[1]:
            continue
        if head not in index:
            counts["head not in chunk"] += 1
            continue
        ids = tokenizer.tail(tail)
        if not 0 < len(ids) <= longest_tail:
            counts["tail too long"] += 1
            continue
        counts["triples"] += 1
        chunk.triples.append(
            ChunkTriple(index[head], relation, ids, index.get(tail, NO_WORD), offset, origin)
        )
