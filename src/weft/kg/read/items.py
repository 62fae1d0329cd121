"""Items of lists and rows of tables: lines that begin a sentence, whether a full stop stands before them or not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

BULLET = "•"
"""What stands before an item of a list in the prose of pages."""
_PARAGRAPH = re.compile(r"\S(?:.|\n(?![ \t\r]*\n))*")
_LINE = re.compile(r"[^\n]+")
_ITEM = re.compile(
    r"[ \t]*(?:(?P<bullet>[•‣⁃◦▪▫●○■□])[ \t]*|(?:(?P<mark>[-–—*+])|(?P<number>\d{1,3})[.)])[ \t]+)(?=\w|[\"'“‘«(\[*_])"
)
"""How items begin. Only bullets stand before nothing else: a wrapped line may begin with "– founded in 1990 –"."""
_DASHES = "–—"
_TAB = 4
_BARS = 2
"""So many bars make a row of a line that stands alone."""
_LABEL = re.compile(r"[^\W\d_][^\n:.!?|]{0,39}:[ \t]+\S")
"""How a line begins that says first what follows: "Born: 1958"."""


class Item(NamedTuple):
    """An item of the outermost level of a list.

    Args:
        start: Offset of its line.
        end: Offset after its last line; the items in it and its wrapped lines are part of it.
        list: The number of its list.
    """

    start: int
    end: int
    list: int


class _ItemLine(NamedTuple):
    start: int
    indent: int
    mark: str


def line_starts(text: str) -> list[int]:
    """Offsets of lines that begin a sentence whatever stands before them: items, rows, and what follows a row."""
    found = {item.start for paragraph in _PARAGRAPH.finditer(text) for item in _item_lines(paragraph)}
    for row in _rows(text):
        found.update((row.start(), row.end() + 1))
    return sorted(place for place in found if place < len(text))


def with_bullets(text: str) -> str:
    """The text with bullets for dashes, stars and pluses before items, all at their places: what a model reads best."""
    marks = [
        item.start
        for paragraph in _PARAGRAPH.finditer(text)
        for item in _item_lines(paragraph)
        if len(item.mark) == 1
    ]
    edges = [0, *(edge for place in marks for edge in (place, place + 1)), len(text)]
    parts = [text[start:end] for start, end in pairwise(edges)]
    parts[1::2] = [BULLET] * len(marks)
    return "".join(parts)


def items_of(text: str) -> list[Item]:
    """The items of the lists of a text, in order; a list has two at least.

    What is indented more than its first item belongs to the item above. A list ends before a paragraph that begins with
    no item.
    """
    lists: list[tuple[list[int], int]] = []
    starts: list[int] = []
    least, end = 0, 0

    def close(at: int) -> None:
        nonlocal starts
        if len(starts) > 1:
            lists.append((starts, at))
        starts = []

    for paragraph in _PARAGRAPH.finditer(text):
        lines = _item_lines(paragraph)
        if not lines or lines[0].start > paragraph.start():
            close(end)
        for line in lines:
            if line.indent < least:
                close(line.start)
            if not starts:
                least = line.indent
            if line.indent <= least:
                starts.append(line.start)
        end = paragraph.end()
    close(end)
    return [
        Item(start, stop, number)
        for number, (starts, last) in enumerate(lists)
        for start, stop in pairwise([*starts, last])
    ]


def _item_lines(paragraph: re.Match[str]) -> list[_ItemLine]:
    """The lines of a paragraph that begin an item.

    One with a mark that wrapped lines begin with, too, does so where it opens the paragraph, stands below a line that
    ends with a colon or below another item, or, but for dashes, has a second one like it in the paragraph. Numbers
    follow each other.
    """
    text, found = paragraph[0], list[_ItemLine]()
    lines = [(line, _ITEM.match(line[0])) for line in _LINE.finditer(text)]
    marks = Counter(mark["mark"] for _, mark in lines if mark is not None)
    numbers = {mark["number"] for _, mark in lines if mark is not None}
    open_, above, last = False, ":", 0
    for line, mark in lines:
        if mark is not None:
            clear = above == ":" or open_
            if mark["number"]:
                number = int(mark["number"])
                is_item = (clear and (number == last + 1 or not found)) or (number == 1 and "2" in numbers)
                last = number if is_item else last
            else:
                is_item = bool(mark["bullet"]) or clear
                is_item |= mark["mark"] not in (None, *_DASHES) and marks[mark["mark"]] > 1
            if is_item:
                open_ = True
                start = paragraph.start() + line.start()
                # The first line of a paragraph is found without the blanks before it.
                before = paragraph.string.rfind("\n", 0, start) + 1
                blanks = mark[0][: len(mark[0]) - len(mark[0].lstrip())]
                indent = paragraph.string[before:start] + blanks
                found.append(_ItemLine(start + len(blanks), len(indent.expandtabs(_TAB)), mark[0].strip()))
        above = line[0].rstrip()[-1:]
    return found


def _rows(text: str) -> Iterator[re.Match[str]]:
    """Rows of tables: lines with bars between their cells or a label before one, several bars or several lines."""
    rows = [line for line in _LINE.finditer(text) if " | " in line[0] or _LABEL.match(line[0])]
    starts, ends = {row.start() for row in rows}, {row.end() for row in rows}
    for row in rows:
        if row[0].count("|") >= _BARS or row.start() - 1 in ends or row.end() + 1 in starts:
            yield row
