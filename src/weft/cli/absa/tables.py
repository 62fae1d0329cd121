"""Tables of texts: what they are written in, and what is said while they are read."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from weft.cli.options import Parser
from weft.platform.reading import name_of

if TYPE_CHECKING:
    from weft.absa.read.table import TableRow

_LONG = 100_000
"""Characters of a text from which on it is said that it takes its time."""
FINDING, ASKING = 40, 15
"""Seconds of a processor for so many characters, where what they judge is found, and where one aspect is asked."""
_NAMED = 3
"""So many such rows are named."""


def add_input_format(parser: Parser) -> None:
    """What the input is, where its suffix does not say it."""
    parser.add_argument(
        "--input-format",
        choices=("csv", "jsonl", "parquet", "lines"),
        help="what the input is (by its suffix)",
    )


def telling_long(
    rows: Iterable[TableRow], column: str, source: str, command: str, seconds: int
) -> Iterator[TableRow]:
    """The rows; the first ones whose text takes long are named before it is read.

    Args:
        rows: The rows.
        column: Of the text, where a row does not say it.
        source: The table's name.
        command: What is said before it.
        seconds: Of a processor for :data:`_LONG` characters.
    """
    named = 0
    for row in rows:
        text = row.cells.get(row.column or column)
        if named < _NAMED and isinstance(text, str) and len(text) > _LONG:
            named += 1
            print(
                f"weft {command}: {name_of(source)} row {row.number}: a text of {len(text):,} characters, which takes "
                f"its time: about {seconds} seconds of a processor for each {_LONG:,}",
                file=sys.stderr,
            )
        yield row
