"""Cells of a table that reach into rows below their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from weft.kg.read.origins import unmarked

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_Reaching: TypeAlias = "dict[int, tuple[int, int, LexborNode | None]]"
"""Cells from above by their first column: columns, rows still to come, and the cell where it is read again."""
CELLS = frozenset(("td", "th"))
_GROUPS = frozenset(("thead", "tbody", "tfoot"))
_LABEL = 100
"""Most characters of a cell that is read again in each row that it reaches into."""
_PARTS = 50
"""Most parts of it."""
_REPEATED = 10_000
"""Most cells of a page that are read again: a small page may ask for millions."""


def spanned(root: LexborNode | None) -> dict[int, list[LexborNode | None]]:
    """What rows hold into which cells from above reach, by the row's ``mem_id``: these stand in it at their places.

    So "1998" is read in both rows of ``<tr><td rowspan=2>1998<td>First<tr><td>Second``. None is the place of a cell
    that is too long to be read again. Rows behind the first 10,000 such places of a page are read as they stand.
    """
    found: dict[int, list[LexborNode | None]] = {}
    left = _REPEATED
    if root is None or root.css_first("[rowspan]") is None:
        return found
    for table in root.css("table"):
        for rows in _groups(table):
            reaching: _Reaching = {}
            for number, row in enumerate(rows):
                own = children(row)
                held, reaching = _row(own, reaching, len(rows) - number)
                left -= len(held) - len(own)
                if left < 0:
                    return found
                if len(held) > len(own) and any(cell.tag in CELLS for cell in own):
                    found[row.mem_id] = held
    return found


def _row(own: list[LexborNode], reaching: _Reaching, rows: int) -> tuple[list[LexborNode | None], _Reaching]:
    """What a row holds with the cells that reach into it, and the cells that reach into the next.

    Args:
        own: What the row itself holds.
        reaching: Cells that reach into it.
        rows: Rows of its group from this one on.
    """
    held: list[LexborNode | None] = []
    below: _Reaching = {}
    column = 0

    def from_above() -> None:
        nonlocal column
        while column in reaching:
            wide, more, cell = reaching[column]
            if more > 1:
                below[column] = wide, more - 1, cell
            held.append(cell)
            column += wide

    for cell in own:
        if cell.tag not in CELLS:
            held.append(cell)
            continue
        from_above()
        held.append(cell)
        wide = max(1, _number(cell, "colspan", 1))
        more = min(_number(cell, "rowspan", 1) or rows, rows) - 1
        if more > 0:
            below[column] = wide, more, cell if _is_label(cell) else None
        column += wide
    from_above()
    return held, below


def _groups(table: LexborNode) -> Iterator[list[LexborNode]]:
    """The rows of a table's own, group by group: no cell reaches out of its group."""
    held = children(table)
    yield [row for row in held if row.tag == "tr"]
    for group in held:
        if group.tag in _GROUPS:
            yield [row for row in children(group) if row.tag == "tr"]


def children(node: LexborNode) -> list[LexborNode]:
    """What a node holds, in order."""
    found: list[LexborNode] = []
    child = node.child
    while child is not None:
        found.append(child)
        child = child.next
    return found


def _is_label(cell: LexborNode) -> bool:
    """Whether a cell is short; no more of it is looked at than it takes to tell."""
    parts, length, stack = 0, 0, children(cell)
    while stack and parts <= _PARTS and length <= _LABEL:
        part = stack.pop()
        parts += 1
        length += len(unmarked(part.text_content or "")) if part.tag == "-text" else 0
        stack += children(part)
    return not stack and parts <= _PARTS and length <= _LABEL


def _number(cell: LexborNode, name: str, default: int) -> int:
    """A number of rows or columns; what is none, or no sensible one, counts as if it were not there."""
    said = (cell.attributes.get(name) or "").strip()
    return int(said) if said.isdecimal() and said.isascii() and len(said) < 6 else default
