"""Tables for a person: headers, columns as wide as what they hold, and nothing cut that the terminal has room for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

_GAP, _LEAST = 2, 12
_JOINERS = "\u200c\u200d"
"""Marks without a width that belong to words of some scripts and to emoji."""


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], width: int | None = None) -> str:
    """Rows under their headers.

    Args:
        heads: A header for each column; one that begins with ``>`` is of numbers, which stand on the right.
        rows: What to lay out, a cell for each column; cells are one line.
        width: Where wider columns are cut, the widest first; the terminal's own where None, and nothing is cut where
            the output is no terminal.
    """
    names = [head.lstrip(">") for head in heads]
    cells = [names, *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if width is None and sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
    while width is not None and sum(widths) + _GAP * (len(widths) - 1) > width:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _LEAST:
            break
        widths[widest] -= 1
    lines: list[str] = []
    for row in cells:
        shown = [
            cell if len(cell) <= size else cell[: size - 1] + "…"
            for cell, size in zip(row, widths, strict=True)
        ]
        aligned = [
            cell.rjust(size) if head.startswith(">") else cell.ljust(size)
            for cell, size, head in zip(shown, widths, heads, strict=True)
        ]
        lines.append((" " * _GAP).join(aligned).rstrip())
    return "\n".join(lines)


def one_line(cell: object) -> str:
    """A text as one line; what a terminal would take as a command is shown as what it is."""
    return "".join(char if char.isprintable() or char in _JOINERS else repr(char)[1:-1] for char in str(cell))
