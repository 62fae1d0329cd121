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


def write_rows(file: IO[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write records as CSV, their lines ended by a line feed."""
    csv.writer(file, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
