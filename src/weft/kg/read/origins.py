"""Which line of its file each part of a page's prose comes from.

A parser of HTML tells no lines. So the line is written into the text before it is parsed, in two characters that no
text has, and taken out of the prose behind it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_FIRST, _DIGITS = 0x10F000, 4000
"""The first of the characters for private use that a line is written in, and how many of them there are."""
MARK = rf"[{chr(_FIRST)}-{chr(_FIRST + _DIGITS - 1)}]{{2}}"
"""A pattern for a mark."""
_MARK = re.compile(MARK)
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<[a-zA-Z/!?](?:[^<>\"']|\"[^\"]{0,2000}\"|'[^']{0,2000}')*>|<[a-zA-Z/!?][^<>]*>",
    re.DOTALL,
)
_START = re.compile(r"(?:^|\n)[^\S\n]*(?=[^\s])")
"""Where text begins between two tags, or in a new line."""


class Origin(NamedTuple):
    """Where a part of a prose comes from.

    Args:
        start: Offset of its first character.
        line: Of the file, from 1.
    """

    start: int
    line: int


class Traced(NamedTuple):
    """A prose with its origins.

    Args:
        text: The prose.
        origins: Of its parts, ascending; empty where its own lines are the file's, or nobody knows.
    """

    text: str
    origins: tuple[Origin, ...] = ()


def line_at(origins: tuple[Origin, ...], place: int) -> int:
    """The line of the file that a character comes from; of what stands before all origins the first one's."""
    return origins[max(0, bisect_right(origins, place, key=lambda origin: origin.start) - 1)].line


def mark_of(line: int) -> str:
    """The characters that stand for a line; none for one beyond 16 million."""
    high, low = divmod(line, _DIGITS)
    return chr(_FIRST + high) + chr(_FIRST + low) if high < _DIGITS else ""


def with_marks(page: str, first: int = 1) -> str:
    """HTML with a mark in front of each text between tags, and of each line of it.

    Args:
        page: HTML without the characters of marks.
        first: The number of its first line.
    """
    parts: list[str] = []
    line, last = first, 0
    for tag in (*_TAG.finditer(page), None):
        start = len(page) if tag is None else tag.start()
        place = last
        for begin in _START.finditer(page[last:start]):
            stop = last + begin.end()
            line += page.count("\n", place, stop)
            parts += (page[place:stop], mark_of(line))
            place = stop
        parts.append(page[place:start])
        line += page.count("\n", place, start)
        if tag is not None:
            parts.append(tag[0])
            line += tag[0].count("\n")
            last = tag.end()
    return "".join(parts)


def has_marks(text: str) -> bool:
    """Whether a text has marks."""
    return _MARK.search(text) is not None


def unmarked(text: str) -> str:
    """The text without its marks."""
    return _MARK.sub("", text)


def traced(marked: str) -> Traced:
    """A prose without its marks, and what they said."""
    parts: list[str] = []
    origins: list[Origin] = []
    place = length = 0
    for mark in _MARK.finditer(marked):
        parts.append(marked[place : mark.start()])
        length += mark.start() - place
        place = mark.end()
        high, low = (ord(character) - _FIRST for character in mark[0])
        line = _DIGITS * high + low
        if not origins or origins[-1].line != line:
            origins.append(Origin(length, line))
    parts.append(marked[place:])
    return Traced("".join(parts), tuple(origins))
