"""From tags to the words of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from weft.absa.model.terms import TAGS
from weft.absa.represent.spelling import APOSTROPHE

Kind = Literal["term", "opinion"]
_WORD = re.compile(rf"[\w\u0300-\u036f]+(?:(?:-|{APOSTROPHE})[\w\u0300-\u036f]+)*|[^\w\s]", re.IGNORECASE)
_EDGE = " \t\n.,;:!?\"'()[]-–—…"


@dataclass(frozen=True, order=True)
class Span:
    """Words of a text: first character, last + 1, and whether they name something or judge."""

    start: int
    stop: int
    kind: Kind = "term"


def spans_of(text: str, offsets: Sequence[tuple[int, int]], tags: Sequence[int]) -> list[Span]:
    """Whole words of which some part is tagged, joined where the tags go on, in the order of the text.

    A span that goes on without having begun is one, too. Edges that are punctuation are cut off.

    Args:
        text: The text.
        offsets: Characters of each token; an empty one has none.
        tags: Numbers of :data:`weft.absa.model.terms.TAGS`, one for each token.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    found: list[Span] = []
    open_: tuple[int, int, Kind] | None = None
    number = 0
    seen = -1
    for (start, stop), tag in zip(offsets, tags, strict=True):
        if stop <= start:
            continue
        while number + 1 < len(words) and words[number][1] <= start:
            number += 1
        begin, end = (
            words[number] if words and words[number][0] <= start < words[number][1] else (start, stop)
        )
        name = TAGS[tag]
        kind: Kind | None = None if name == "O" else ("term" if name.endswith("term") else "opinion")
        # The first piece of a word speaks for it.
        if begin == seen:
            continue
        seen = begin
        if kind is None:
            found += _closed(text, open_)
            open_ = None
        elif open_ is not None and open_[2] == kind and name.startswith("I"):
            open_ = (open_[0], end, kind)
        else:
            found += _closed(text, open_)
            open_ = (begin, end, kind)
    return [*found, *_closed(text, open_)]


def _closed(text: str, opened: tuple[int, int, Kind] | None) -> list[Span]:
    if opened is None:
        return []
    start, stop, kind = opened
    while start < stop and text[start] in _EDGE:
        start += 1
    while stop > start and text[stop - 1] in _EDGE:
        stop -= 1
    return [Span(start, stop, kind)] if stop > start else []


def nearest(text: str, opinion: Span, terms: Sequence[Span]) -> int | None:
    """The number of the term that judging words belong to: the nearest one with no end of a clause between.

    Where every term is behind such an end, the nearest of the same sentence; None where there is none.
    """
    for ends in (_CLAUSE, _SENTENCE):
        reachable = [
            (max(opinion.start - term.stop, term.start - opinion.stop), number)
            for number, term in enumerate(terms)
            if not ends.search(text[min(term.stop, opinion.stop) : max(term.start, opinion.start)])
        ]
        if reachable:
            return min(reachable)[1]
    return None


_SENTENCE = re.compile(r"[.!?…]")
_CLAUSE = re.compile(r"[.!?…;:]|,? \b(?:but|while|whereas|although|though|however|yet)\b", re.IGNORECASE)
