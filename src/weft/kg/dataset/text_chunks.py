"""Documents of text cut into chunks of at most R tokens at sentence ends, with exact offsets.

In a chunk of text the *words* are entities first: all mentions of one entity in a chunk, however they are
spelled, share one word index, so that an entity is hidden as a whole. Other words follow.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.kg.dataset.chunks import Chunk, ChunkMention
from weft.kg.dataset.letter_cases import letter_cases
from weft.kg.dataset.tokens import NO_WORD, Tokens, is_word
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.sentences import sentence_starts


class Placed(NamedTuple):
    """A mention and the tokens of its document that it takes up, ``first : stop``."""

    mention: Mention
    first: int
    stop: int


def text_chunks(
    document: TextDocument, tokens: Tokens, roots: int, funnel: Funnel, overlap: int = 0
) -> list[Chunk]:
    """Chunks of a document with the mentions that stand in them.

    Args:
        document: With its mentions.
        tokens: Of its text.
        roots: R.
        funnel: Counts and lists mentions that no tokens fit, and counts cuts inside sentences.
        overlap: Most tokens, whole sentences of them, that a chunk repeats of the one before.
    """
    placed = place_mentions(document, tokens, funnel)
    free = np.ones(len(tokens) + 1, dtype=bool)
    free[1:-1] = tokens.words[1:] != tokens.words[:-1]
    for item in placed:
        free[item.first + 1 : item.stop] = False
    starts = sentence_starts(document.text) if document.sentences is None else document.sentences
    sentences = np.unique(np.searchsorted(tokens.starts, np.asarray(starts, dtype=np.int64)))
    spans, hard = pack_sentences(len(tokens), sentences[free[sentences]], free, roots, overlap)
    funnel.counts["cuts inside a sentence"] += hard
    begins = [start for start, _ in spans]
    for item in placed:
        if item.stop > spans[bisect_right(begins, item.first) - 1][1]:
            funnel.leave_out("mentions longer than a chunk", _listed(document, item.mention))
    cases = letter_cases(document.text, tokens)
    firsts = [item.first for item in placed]
    inside = [placed[bisect_left(firsts, start) : bisect_left(firsts, stop)] for start, stop in spans]
    return [
        _chunk(document.text, tokens, cases, span, found) for span, found in zip(spans, inside, strict=True)
    ]


def place_mentions(document: TextDocument, tokens: Tokens, funnel: Funnel) -> list[Placed]:
    """Mentions that are whole tokens, none over another, in order of their place.

    Where mentions of two entities overlap the longer one stays.
    """
    found: list[Placed] = []
    for mention in document.mentions:
        first = int(np.searchsorted(tokens.starts, mention.start))
        stop = int(np.searchsorted(tokens.ends, mention.end, side="right"))
        if first < stop and tokens.starts[first] == mention.start and tokens.ends[stop - 1] == mention.end:
            found.append(Placed(mention, first, stop))
        else:
            funnel.leave_out("mentions that no tokens fit", _listed(document, mention))
    found.sort(key=lambda item: (item.first - item.stop, item.first, item.mention.entity))
    owner: dict[int, int] = {}
    kept: list[Placed] = []
    for item in found:
        owners = {owner[place] for place in range(item.first, item.stop) if place in owner}
        if not owners:
            kept.append(item)
            owner.update(dict.fromkeys(range(item.first, item.stop), item.mention.entity))
        elif owners == {item.mention.entity}:
            funnel.counts["mentions inside another of their entity"] += 1
        else:
            funnel.leave_out("mentions that overlap another", _listed(document, item.mention))
    funnel.counts["mentions"] += len(kept)
    return sorted(kept, key=lambda item: item.first)


def pack_sentences(
    total: int, sentences: NDArray[np.int64], free: NDArray[np.bool_], size: int, overlap: int = 0
) -> tuple[list[tuple[int, int]], int]:
    """Whole sentences together up to a size; a longer one is cut between words.

    Args:
        total: Number of tokens.
        sentences: ``(n,)`` tokens at which a sentence starts, ascending.
        free: ``(total + 1,)`` whether a cut may stand before each token.
        size: Most tokens of a piece.
        overlap: Most tokens of a piece that the next one repeats, in whole sentences.

    Returns:
        First token and token after the last of each piece, and how many cuts fell inside a sentence.
    """
    spans: list[tuple[int, int]] = []
    hard, start = 0, 0
    while start < total:
        stop = min(start + size, total)
        if stop < total:
            usable = sentences[(sentences > start) & (sentences <= stop)]
            if len(usable):
                stop = int(usable[-1])
            else:
                hard += 1
                between = np.flatnonzero(free[start + 1 : stop + 1])
                stop = start + 1 + int(between[-1]) if len(between) else stop
        spans.append((start, stop))
        if stop == total:
            break
        # A repeated sentence must leave room for the next new one, or the piece would say nothing new.
        later = sentences[sentences > stop]
        room = (int(later[0]) if len(later) else total) - size
        first = max(start + 1, stop - overlap, room)
        again = sentences[(sentences >= first) & (sentences < stop)]
        start = int(again[0]) if len(again) else stop
    return spans, hard


def _chunk(
    text: str, tokens: Tokens, cases: NDArray[np.int64], span: tuple[int, int], placed: Iterable[Placed]
) -> Chunk:
    """The chunk of a span of tokens; of the mentions that begin in it those that end in it are its own."""
    start, stop = span
    inside = [item for item in placed if item.stop <= stop]
    words = np.full(stop - start, NO_WORD, dtype=np.int64)
    names: list[str] = []
    numbers: dict[int, int] = {}
    mentions: list[ChunkMention] = []
    for item in inside:
        mention = item.mention
        if mention.entity not in numbers:
            numbers[mention.entity] = len(names)
            names.append(mention.name)
        word, first = numbers[mention.entity], item.first - start
        words[first : item.stop - start] = word
        surface = text[mention.start : mention.end]
        mentions.append(
            ChunkMention(
                word,
                first,
                item.stop - item.first,
                mention.entity,
                mention.name,
                mention.type,
                mention.start,
                mention.end,
                surface,
            )
        )
    _number_words(text, tokens, span, words, names)
    return Chunk(
        tokens.ids[start:stop],
        words,
        names,
        tokens.starts[start:stop],
        tokens.ends[start:stop],
        mentions=mentions,
        cases=cases[start:stop],
    )


def _number_words(
    text: str, tokens: Tokens, span: tuple[int, int], words: NDArray[np.int64], names: list[str]
) -> None:
    """Give the words outside mentions the numbers after the entities', as far as numbers go."""
    start, stop = span
    index: dict[str, int] = {}
    edges = [0, *(np.flatnonzero(np.diff(tokens.words[start:stop])) + 1).tolist(), stop - start]
    for begin, end in pairwise(edges):
        if (words[begin:end] != NO_WORD).any():
            continue
        name = text[tokens.starts[start + begin] : tokens.ends[start + end - 1]]
        if not is_word(name):
            continue
        if name not in index:
            if len(names) == NO_WORD:
                continue
            index[name] = len(names)
            names.append(name)
        words[begin:end] = index[name]


def _listed(document: TextDocument, mention: Mention) -> str:
    return f"{document.id}: {document.text[mention.start : mention.end]!r} at {mention.start}"


def entity_words(chunk: Chunk) -> dict[int, Sequence[ChunkMention]]:
    """The mentions of each entity of a chunk, in order."""
    found: dict[int, list[ChunkMention]] = {}
    for mention in chunk.mentions:
        found.setdefault(mention.entity, []).append(mention)
    return dict(found)
