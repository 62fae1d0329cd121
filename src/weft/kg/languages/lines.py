r"""Lines of a source text: they end at ``\r\n``, ``\r`` or ``\n``, and at nothing else."""

from __future__ import annotations

import re
from bisect import bisect_right

LINE_END = re.compile(r"\r\n|\r|\n")
_AROUND = 150
"""Most characters of a line that are kept on each side of a span."""


class Lines:
    """The lines of a text, for many questions.

    Args:
        text: The text.

    Attributes:
        starts: Offset of the first character of each line.
    """

    def __init__(self, text: str) -> None:
        self.starts = [0, *(found.end() for found in LINE_END.finditer(text))]

    def number(self, offset: int) -> int:
        """The line of a character, from 1."""
        return bisect_right(self.starts, offset)


def line_of(text: str, offset: int) -> int:
    """The line of one character, from 1; not for the second mark of a line end."""
    # Three counts are much faster than one search with a pattern.
    ends = text.count("\n", 0, offset) + text.count("\r", 0, offset)
    return ends - text.count("\r\n", 0, offset) + 1


def line_around(text: str, start: int, end: int) -> str:
    """The line of a span, at most 150 characters on each side of it, without white space around."""
    left, right = max(start - _AROUND, 0), end + _AROUND
    begin = max(left, *(text.rfind(mark, left, start) + 1 for mark in "\r\n"))
    stops = [text.find(mark, end, right) for mark in "\r\n"]
    return text[begin : min([right, *(stop for stop in stops if stop >= 0)])].strip()
