"""Columns of texts that hold no words: somebody named that of the stars, or of the numbers of reviews."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.absa.represent.spelling import is_emoji

_NAMED = 5
"""So many columns with words are named."""


class Wordless:
    """Looks at the cells of a table for columns of texts without words, and for those that have some."""

    def __init__(self) -> None:
        self._worded: dict[str, bool] = {}
        self._longest: dict[str, int] = {}

    def look(self, cells: Mapping[str, Any], column: str) -> None:
        """Look at a row of which the text stands in this column, until one has a word."""
        if self._worded.get(column):
            return
        self._worded[column] = _has_words(cells.get(column))
        if not self._worded[column]:
            for name, cell in cells.items():
                if name != column and _has_words(cell):
                    self._longest[name] = max(self._longest.get(name, 0), len(cell))

    def lines(self) -> list[str]:
        """What there is to say, a line for each column without a word; the longest texts are named first."""
        others = sorted(self._longest, key=lambda name: -self._longest[name])
        told = ", ".join(map(repr, others[:_NAMED])) + (", …" if len(others) > _NAMED else "")
        there = f"there are some in {told}" if others else "nor does another that was read"
        return [
            f"the column {column!r} holds no words; {there}"
            for column, worded in self._worded.items()
            if not worded
        ]


def _has_words(cell: object) -> bool:
    """Whether a cell is a text with a letter, or with an emoji, which is read as a word."""
    return isinstance(cell, str) and any(letter.isalpha() or is_emoji(letter) for letter in cell)
