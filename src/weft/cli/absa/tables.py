"""The option that says what a table of texts is written in."""

from __future__ import annotations

from weft.cli.options import Parser


def add_input_format(parser: Parser) -> None:
    """What the input is, where its suffix does not say it."""
    parser.add_argument(
        "--input-format",
        choices=("csv", "jsonl", "parquet", "lines"),
        help="what the input is (by its suffix)",
    )
