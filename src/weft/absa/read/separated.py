"""Rows of CSV: fields between commas, semicolons, tabs or pipes, quotes that are not closed among them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice
from typing import Any

from weft.absa.records import Side
from weft.errors import InputError, counted
from weft.platform.reading import FIELD_CHARACTERS, MEBIBYTE, csv_reader

TEXT = "text"
"""The column of texts, where none is named."""
SEPARATORS = (",", ";", "\t", "|")
"""Between the fields of a CSV file, in the order of trial: programs set to other languages than English write
semicolons, databases pipes."""
_UNQUOTED = ("\t", "|")
"""Those between which many programs write no quotes: a text has hardly ever such a character."""
_HEADER_LINES = 1000
_SHOWN = 100
"""So many characters of a name are compared."""
_NAMED = re.compile(r"sep=(.)\r?\n")
"""The line with which Excel is told what stands between fields."""
_NO_FIELD = "x" * (FIELD_CHARACTERS + 1) + "\n"
"""What the reader of CSV refuses, inside quotes and outside."""
_TELLING = 3
"""So many fields in each line of a record tell that it is several."""
_AGAIN = 64 * MEBIBYTE
"""So many characters are read again behind quotes that are not closed."""


@dataclass(frozen=True)
class TableRow:
    """One row, or one of its fields: its number from 1 and its cells, or what is wrong with it.

    Args:
        number: From 1.
        cells: By the names of their columns.
        problem: What is wrong with it.
        column: That of the text, where a row has several: see :mod:`weft.absa.read.fields`.
        side: What the text was asked for.
        group: What it is compared by; "" where its column is empty, None where none is named.
    """

    number: int
    cells: Mapping[str, Any]
    problem: str | None = None
    column: str | None = None
    side: Side | None = None
    group: str | None = None


class _Lines:
    """Lines that are remembered from record to record, so that they can be read again.

    Attributes:
        taken: The lines of the record.
        left: Characters that may still be read again.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._again: list[str] = []
        self.taken: list[str] = []
        self.left = _AGAIN

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.pop() if self._again else next(self._lines)
        self.taken.append(line)
        return line

    def again(self) -> bool:
        """Read all lines of the record but the first again; False where one is too long, or it was done too often."""
        lines = self.taken[1:]
        if _NO_FIELD in lines:
            return False
        self.left -= sum(map(len, lines))
        if self.left < 0:
            return False
        self._again += reversed(lines)
        return True


def check_columns(header: Sequence[str], columns: Sequence[str], path: str) -> None:
    """Refuse a table without these columns, or with two of a name.

    Raises:
        InputError: A column is not there, or more than once.
    """
    missing = [column for column in columns if column not in header]
    if missing:
        have = ", ".join(map(repr, header)) or "none"
        raise InputError(
            f"no column {', '.join(map(repr, missing))}; there are {have}",
            where=path,
            hint=_way_out(header, missing),
        )
    for column in columns:
        if list(header).count(column) > 1:
            raise InputError(f"column {column!r} stands there more than once", where=path)


def _way_out(header: Sequence[str], missing: Sequence[str]) -> str | None:
    """What to do where columns are not there: many lack no more than a letter's case or have a blank around."""
    if any("\0" in name for name in header):
        return "it seems to be UTF-16 without its mark: `iconv -f utf-16le -t utf-8` converts it"
    near = [(name, _nearest(name, header)) for name in missing]
    meant = ", ".join(f"{other!r} for {name!r}" for name, other in near if other is not None)
    named = "--text-column names another" if missing == [TEXT] and header else None
    if not meant:
        return named
    return f"did you mean {meant}?" if named is None else f"did you mean {meant}? {named}"


def _nearest(name: str, header: Sequence[str]) -> str | None:
    """The column that is likely meant, for its whole name or, of a path such as "review.text", for the last one."""
    last = {header_name.rpartition(".")[2]: header_name for header_name in reversed(header)}
    alike = {_plain(end): other for end, other in last.items()} | {
        _plain(other): other for other in reversed(header)
    }
    if _plain(name) in alike:
        return alike[_plain(name)]
    near = get_close_matches(name[:_SHOWN], header, n=1)
    ends = get_close_matches(name[:_SHOWN], last, n=1)
    return near[0] if near else last[ends[0]] if ends else None


def _plain(name: str) -> str:
    return name.strip().casefold()


def separated(
    stream: Iterator[str], path: str, columns: Sequence[str], separators: Sequence[str], longest: int
) -> Iterator[TableRow]:
    """The rows of a CSV file.

    Its fields stand between what a first line ``sep=;`` names, else between the first separator by which the header has
    the columns. Empty lines count as rows; in a table of one column they are empty cells, else passed over. A line with
    a quote that is not closed is a row with a ``problem``, and what it would swallow is read by itself. Between tabs
    or pipes such a line is a row as it stands: many programs write no quotes there, so those in a field are its own.

    Args:
        stream: The lines.
        path: The file, for messages.
        columns: The columns that must exist.
        separators: What may stand between fields.
        longest: The most characters of a line; a longer one is a row with a problem.

    Raises:
        InputError: The header is no CSV, or lacks a column.
    """
    # Before the reader sees it: a line that was cut would pass for a row.
    stream = (_NO_FIELD if len(line) > longest else line for line in stream)
    first = next(stream, "")
    named = _NAMED.fullmatch(first)
    if named is not None:
        separators = (named[1],)
    else:
        stream = chain([first] if first else [], stream)
    taken = list[str]()
    separator = separator_of(taken, stream, columns, separators)
    lines = _Lines(chain(taken, stream))
    reader = csv_reader(lines, separator)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise InputError(f"the header is not CSV: {error}", where=path) from error
    check_columns(header, columns, path)
    number = empty = 0
    while True:
        lines.taken.clear()
        problem, fields, lost = None, list[str](), 0
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problem = f"not CSV: {error}"
        number += 1
        plain = None
        if separator in _UNQUOTED:
            plain = _as_it_stands(lines.taken, separator, len(header), problem is None)
        if (problem is not None or plain is not None) and len(lines.taken) > 1:
            if lines.again():
                problem = f"{problem}; a quote in it is not closed"
            elif problem is not None:
                plain, lost = None, len(lines.taken) - 1
                problem += (
                    f"; it and the next {counted(lost, 'line')} are lost, a quote in them is not closed"
                )
            else:
                plain = None
        if plain is not None:
            problem, fields = None, plain
        if not fields and problem is None:
            empty += 1
            continue
        # Empty lines at the end are none of the table's: only what follows tells.
        if len(header) == 1:
            yield from (TableRow(place, {header[0]: ""}) for place in range(number - empty, number))
        empty = 0
        if problem is None and len(fields) != len(header):
            problem = f"{counted(len(fields), 'field')}; the header has {len(header)}"
        yield TableRow(number, {} if problem else dict(zip(header, fields, strict=True)), problem)
        # Each line that was lost is taken for a row, so that the rows behind it keep their numbers.
        number += lost


def _as_it_stands(lines: Sequence[str], separator: str, count: int, read: bool) -> list[str] | None:
    """The fields of a record's first line where its quotes are the text's and no marks of CSV; else None.

    Args:
        lines: Of the record.
        separator: What stands between fields.
        count: Fields of the header.
        read: Whether it could be read as CSV: then it is one record unless each line has as many fields as the header,
            three at least, for a cell may hold a line break and a separator.
    """
    if read and (len(lines) < 2 or count < _TELLING):
        return None
    first, *others = (line.rstrip("\r\n").split(separator) for line in lines)
    if len(first) != count or (read and any(len(fields) != count for fields in others)):
        return None
    return first


def separator_of(
    taken: list[str], stream: Iterator[str], columns: Sequence[str], separators: Sequence[str]
) -> str:
    """The first one by which the header has the most of the columns; of none the one with the most fields.

    The lines that were looked at are put into ``taken``: a header may have quoted line breaks.
    """

    def again() -> Iterator[str]:
        yield from taken
        for line in islice(stream, max(0, _HEADER_LINES - len(taken))):
            taken.append(line)
            yield line

    def worth(separator: str) -> tuple[int, int]:
        try:
            header = next(csv_reader(again(), separator), [])
        except csv.Error:
            return 0, 0
        found = sum(column in header for column in columns)
        return found, 0 if found else len(header)

    return max(separators, key=worth)
