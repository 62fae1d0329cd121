"""Where terms stand in a text: their passages, the items of lists."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

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


def sides_below_heads(text: str, terms: Sequence[Span]) -> list[Side | None]:
    """What each term was asked for by the head of praise or blame that it stands below; None below none.

    Args:
        text: The text.
        terms: In order.
    """
    found: list[Side | None] = [None for _ in terms]
    for start, stop, below in sides_by_layout(text):
        own: Side | None = side_of(text[start:stop], below)
        first = bisect_left(terms, start, key=lambda term: term.start)
        last = bisect_left(terms, stop, key=lambda term: term.start)
        for number in range(first, last):
            found[number] = own
    return found


def items_of(
    texts: Sequence[str], spans: Sequence[Sequence[Span]], listed: Sequence[Sequence[tuple[int, int]]]
) -> Iterator[str]:
    """The words of the items of lists."""
    return (
        text[span.start : span.stop]
        for text, found, items in zip(texts, spans, listed, strict=True)
        for span in found
        if span.kind == "item" or (span.start, span.stop) in items
    )


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
