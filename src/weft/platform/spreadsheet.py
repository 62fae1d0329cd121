"""CSV that a spreadsheet may open: a text that it would take for a formula gets an apostrophe in front.

Spreadsheets run what begins with ``= + - @``, a tab or a carriage return, and a name in a binary or a review can
be such a text. They show a cell that begins with an apostrophe as text. Numbers are left alone; JSON and Parquet
hold every text as it is.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import IO, Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_rows(file: IO[str], rows: Iterable[Iterable[Any]], delimiter: str = ",") -> None:
    """Write records as CSV, their lines ended by a line feed."""
    # A writer quotes what its line ends are made of: a carriage return alone would end a record for a reader.
    records = csv.writer(_LineFeeds(file), delimiter=delimiter, lineterminator="\r\n")
    records.writerows([_cell(value) for value in row] for row in rows)


class _LineFeeds:
    """A file to which a :mod:`csv` writer gives record after record."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, record: str) -> int:
        return self._file.write(record.removesuffix("\r\n") + "\n")


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
