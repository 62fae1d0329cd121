"""Where the sections of a text begin: at its headings, which are short lines of their own."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from weft.kg.read.documents import Mention, TextDocument

_PARAGRAPH = re.compile(r"\S(?:.|\n(?![ \t\r]*\n))*")
_LONGEST, _WORDS = 80, 12
"""Characters and words of a heading, at most."""
_NO_HEADING = re.compile(r"[.!?,;:…\"”’)\]]$|:\s|\s\||^[-–—•*\"“‘(\[]")
"""A sentence, a label with what it labels, a row of a table, a list's item, a quotation."""


def section_starts(text: str) -> tuple[int, ...]:
    """Offsets at which sections begin, 0 first; only 0 where a text has fewer than two.

    A heading is a paragraph of one line, short, without a mark at its end, that begins with a capital or a digit and
    has a paragraph that is none below it; what stands above the first heading is a section, too.
    """
    starts: list[int] = []
    heading: int | None = None
    for found in _PARAGRAPH.finditer(text):
        line = found[0].rstrip()
        if is_heading(line):
            heading = found.start() if heading is None else heading
            continue
        if heading is not None or not starts:
            starts.append(found.start() if heading is None else heading)
        heading = None
    return (0, *starts[1:])


def is_heading(line: str) -> bool:
    """Whether a paragraph may be a heading: one short line without a mark at its end."""
    if "\n" in line or len(line) > _LONGEST or len(line.split()) > _WORDS or _NO_HEADING.search(line):
        return False
    first = line.lstrip("# ")[:1]
    return (first.isupper() or first.isdigit()) and any(map(str.isalpha, line))


def cut(document: TextDocument, starts: Sequence[int]) -> list[tuple[int, TextDocument]]:
    """The sections of a document as documents, with the mentions that lie in them, and where each begins."""
    stops = (*starts[1:], len(document.text))
    mentions: list[list[Mention]] = [[] for _ in starts]
    for item in document.mentions:
        number = bisect_right(starts, item.start) - 1
        if item.end <= stops[number]:
            start = starts[number]
            mentions[number].append(item._replace(start=item.start - start, end=item.end - start))
    return [
        (start, TextDocument(document.id, document.text[start:stop], tuple(found)))
        for start, stop, found in zip(starts, stops, mentions, strict=True)
    ]
