"""Where terms stand in a text: their passages, the items of lists."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from weft.absa.find.spans import Span
from weft.absa.records import Side
from weft.absa.represent.meant import sides_by_layout
from weft.absa.use.sides import side_of
from weft.absa.use.windows import sentence_begins


def passages(text: str, terms: Sequence[Span]) -> list[tuple[int, int]]:
    """Where each term is judged most likely: in its own sentence and the next one, which may go on about it.

    The next one is left out where it names the term again.

    Args:
        text: The text.
        terms: In order.
    """
    begins = sentence_begins(text)
    edges = [*begins, len(text)]
    at = [bisect_right(begins, term.start) - 1 for term in terms]
    named = {(name_in(text, term), sentence) for term, sentence in zip(terms, at, strict=True)}
    found: list[tuple[int, int]] = []
    for term, sentence in zip(terms, at, strict=True):
        # A term may reach over what looks like an end: "Jr. Smith".
        last = bisect_left(edges, term.stop)
        if last < len(begins) and (name_in(text, term), last) not in named:
            last += 1
        found.append((edges[sentence], edges[last]))
    return found


def within(places: Sequence[tuple[int, int]], term: Span) -> bool:
    """Whether a term lies in one of some places, which are in order and share nothing."""
    number = bisect_right(places, term.start, key=lambda place: place[0]) - 1
    return number >= 0 and term.stop <= places[number][1]


def name_in(text: str, term: Span) -> str:
    """The words of a term, in small letters: mentions of one name are the same."""
    return text[term.start : term.stop].casefold()


def sides_of(text: str, terms: Sequence[Span], side: Side | None, by_layout: bool) -> list[Side | None]:
    """What each term was asked for: what the whole text was, or by the head of praise or blame that it stands below.

    Args:
        text: The text.
        terms: In order.
        side: What the text was asked for.
        by_layout: Whether heads count, where the text was asked for nothing.
    """
    if side is not None or not by_layout:
        return [side_of(text, side) for _ in terms]
    found: list[Side | None] = [None for _ in terms]
    for start, stop, below in sides_by_layout(text):
        for number, term in enumerate(terms):
            if start <= term.start < stop:
                found[number] = side_of(text[start:stop], below)
    return found


def with_items(text: str, spans: Sequence[Span], items: Sequence[tuple[int, int]]) -> list[Span]:
    """Spans, and the items in which no term is, in place of what is there; both in order.

    A term that goes on behind an item and the end of its line is none where a heading follows.
    """
    found: list[Span] = []
    at = 0
    for start, stop in items:
        while at < len(spans) and spans[at].stop <= start:
            found.append(spans[at])
            at += 1
        first = at
        while at < len(spans) and spans[at].start < stop:
            at += 1
        inside = [span for span in spans[first:at] if "\n" not in text[stop : span.stop]]
        found += inside if any(span.kind == "term" for span in inside) else [Span(start, stop, "item")]
    return [*found, *spans[at:]]
