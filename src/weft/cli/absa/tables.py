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
"""Characters of a text that a processor reads in about ten seconds."""
_NAMED = 3
"""So many such rows are named."""


def add_input_format(parser: Parser) -> None:
    """What the input is, where its suffix does not say it."""
    parser.add_argument(
        "--input-format",
        choices=("csv", "jsonl", "parquet", "lines"),
        help="what the input is (by its suffix)",
    )


def telling_long(rows: Iterable[TableRow], column: str, source: str, command: str) -> Iterator[TableRow]:
    """The rows; the first ones whose text takes long are named before it is read."""
    named = 0
    for row in rows:
        text = row.cells.get(row.column or column)
        if named < _NAMED and isinstance(text, str) and len(text) > _LONG:
            named += 1
            print(
                f"weft {command}: {name_of(source)} row {row.number}: a text of {len(text):,} characters, which takes "
                "its time: about ten seconds of a processor for each 100,000",
                file=sys.stderr,
            )
        yield row
