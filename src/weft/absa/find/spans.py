"""From tags to the words of a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.absa.model.terms import TAGS
from weft.absa.represent.spelling import APOSTROPHES, HYPHENS, as_shown, is_emoji

Kind = Literal["term", "opinion", "item"]
"""What names something, what judges, and what a list names."""
_WORD = re.compile(
    rf"(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)|[\w\u0300-\u036f]+(?:[{HYPHENS}{APOSTROPHES}][\w\u0300-\u036f]+)*|[^\w\s]"
)
_EDGE = frozenset(".,;:!?\"'()[]-–—…")


@dataclass(frozen=True, order=True)
class Span:
    """Words of a text: first character, last + 1, and what they are."""

    start: int
    stop: int
    kind: Kind = "term"


def spans_of(text: str, offsets: Sequence[tuple[int, int]], tags: Sequence[int]) -> list[Span]:
    """Whole words of which some part is tagged, joined where the tags go on, in the order of the text.

    A span that goes on without having begun is one, too. Edges that are punctuation are cut off, of a term also emoji
    beside its words.

    Args:
        text: The text.
        offsets: Characters of each token; an empty one has none.
        tags: Numbers of :data:`weft.absa.model.terms.TAGS`, one for each token.
    """
    written, places = as_shown(text)
    matches = list(_WORD.finditer(written))
    words = [match[0] for match in matches]
    spans = [match.span() for match in matches]
    if places is not None:
        spans = [(places[start][0], places[stop - 1][1]) for start, stop in spans]
    found: list[Span] = []
    open_: tuple[int, int, Kind] | None = None
    number = 0
    seen = -1
    for (start, stop), tag in zip(offsets, tags, strict=True):
        if stop <= start:
            continue
        while number + 1 < len(spans) and spans[number][1] <= start:
            number += 1
        # The first piece of a word speaks for it.
        if number in (seen, len(spans)) or not (spans[number][0] < stop and start < spans[number][1]):
            continue
        seen = number
        name = TAGS[tag]
        kind: Kind | None = None if name == "O" else ("term" if name.endswith("term") else "opinion")
        if kind is None:
            found += _closed(words, spans, open_)
            open_ = None
        elif open_ is not None and open_[2] == kind and name.startswith("I"):
            open_ = (open_[0], number, kind)
        else:
            found += _closed(words, spans, open_)
            open_ = (number, number, kind)
    return [*found, *_closed(words, spans, open_)]


def spans_of_windows(
    text: str, windows: Sequence[tuple[Sequence[tuple[int, int]], NDArray[np.int64]]]
) -> list[Span]:
    """Of the windows of a text; what two windows share counts once, the longer where they differ."""
    found: list[Span] = []
    every = {span for offsets, tags in windows for span in spans_of(text, offsets, tags.tolist())}
    for span in sorted(every, key=lambda s: (s.start - s.stop, s.start, s.kind)):
        if all(span.stop <= other.start or span.start >= other.stop for other in found):
            found.append(span)
    return sorted(found)


def _closed(
    words: Sequence[str], spans: Sequence[tuple[int, int]], opened: tuple[int, int, Kind] | None
) -> list[Span]:
    """The words from the first to the last that is open, without what is cut off its edges."""
    if opened is None:
        return []
    first, last, kind = opened
    kept = [number for number in range(first, last + 1) if words[number] not in _EDGE]
    if kind == "term":
        kept = [number for number in kept if not is_emoji(words[number])] or kept
    return [Span(spans[kept[0]][0], spans[kept[-1]][1], kind)] if kept else []


def nearest(text: str, opinion: Span, terms: Sequence[Span]) -> int | None:
    """The number of the term that judging words belong to: the nearest one with no end of a clause between.

    Where every term is behind such an end, the nearest of the same sentence; None where there is none. What heads a
    list ("Cons:" in a line of its own) belongs to the first term behind it.

    Args:
        text: The text, as :func:`weft.absa.represent.spelling.shown_in_place` gives it.
        opinion: The judging words.
        terms: In order. Beyond the next one on either side there is at least what is before it.
    """
    behind = bisect_right(terms, opinion.start, key=lambda term: term.start)
    if behind < len(terms) and _heads(text, opinion):
        return behind
    beside = [(number, terms[number]) for number in (behind - 1, behind) if 0 <= number < len(terms)]
    for ends in (_CLAUSE, _SENTENCE):
        reachable = [
            (max(opinion.start - term.stop, term.start - opinion.stop), number)
            for number, term in beside
            if not ends.search(text, min(term.stop, opinion.stop), max(term.start, opinion.start))
        ]
        if reachable:
            return min(reachable)[1]
    return None


def _heads(text: str, opinion: Span) -> bool:
    """Whether judging words begin a line or sentence, with a colon behind."""
    before = text[max(0, opinion.start - _BEFORE) : opinion.start].rstrip(" \t*_")
    return (not before or before[-1] in "\n.!?;") and _HEADS.match(text, opinion.stop) is not None


_HEADS = re.compile(r"[*_]{0,2}[ \t]*:")
_BEFORE = 8
"""Characters before a word among which the end of what stands there is looked for."""
_SENTENCE = re.compile(r"[.!?…]")
_CLAUSE = re.compile(r"[.!?…;:]|,? \b(?:but|while|whereas|although|though|however|yet)\b", re.IGNORECASE)


def words_as_read(slips: Sequence[tuple[int, int, str]], text: str, terms: Sequence[Span]) -> dict[Span, str]:
    """The words of each term with what is likely meant in place of slips: first character, last + 1, word."""
    found: dict[Span, str] = {}
    for term in terms:
        words, at = "", term.start
        for start, stop, word in slips:
            if term.start <= start and stop <= term.stop:
                words, at = words + text[at:start] + word, stop
        found[term] = words + text[at : term.stop]
    return found
