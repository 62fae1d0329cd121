"""One function for the page: its listing, and its control-flow graph with every box and arrow placed."""

from __future__ import annotations

from typing import Any

from weft.bcsd.disassemble.interface import Function
from weft.bcsd.draw import DRAWN_BLOCKS
from weft.bcsd.report.layout import Layout, lay_out

#: Instructions of a block that its box shows.
BOX_LINES = 8
#: Characters of an instruction that its box shows.
BOX_COLUMNS = 34
#: Instructions of a function that the page holds.
LISTED_INSTRUCTIONS = 4000
_CHARACTER = 5.45
_LINE = 11.0
_MARGIN = 5.0


def picture_record(function: Function) -> dict[str, Any]:
    """A function as JSON values, for the page's script.

    Returns:
        ``blocks``: for each its first and last instruction, ``[start, end)``; ``code``: address and text of each
        instruction, at most :data:`LISTED_INSTRUCTIONS`; ``graph``: sizes, boxes and arrows, or None beyond
        :data:`weft.bcsd.draw.DRAWN_BLOCKS` blocks.
    """
    code = [
        [hex(address), f"{mnemonic} {operands}".rstrip()]
        for address, _, mnemonic, operands in function.instructions[:LISTED_INSTRUCTIONS]
    ]
    graph = None
    if len(function.blocks) <= DRAWN_BLOCKS:
        layout = place(function)
        graph = {
            "size": [layout.width, layout.height],
            "boxes": [[box.x, box.y, box.width, box.height] for box in layout.boxes],
            "arrows": [
                [int(edge.kind), *(value for point in arrow.points for value in point)]
                for edge, arrow in zip(function.edges, layout.arrows, strict=True)
            ],
        }
    return {
        "code": code,
        "left_out": len(function.instructions) - len(code),
        "blocks": [[block.start, block.end] for block in function.blocks],
        "graph": graph,
    }


def place(function: Function) -> Layout:
    """Where the boxes and arrows of a function go."""
    sizes = [_size(block_lines(function, number)) for number in range(len(function.blocks))]
    return lay_out(sizes, [(edge.source, edge.target) for edge in function.edges])


def block_lines(function: Function, number: int) -> list[str]:
    """What the box of a block says."""
    block = function.blocks[number]
    shown = function.instructions[block.start : min(block.end, block.start + BOX_LINES)]
    lines = [f"{number}: {function.instructions[block.start][0]:#x}"]
    for _, _, mnemonic, operands in shown:
        text = f"{mnemonic} {operands}".rstrip()
        lines.append(text if len(text) <= BOX_COLUMNS else f"{text[: BOX_COLUMNS - 1]}…")
    if block.end - block.start > BOX_LINES:
        lines.append(f"… {block.end - block.start - BOX_LINES} more")
    return lines


def _size(lines: list[str]) -> tuple[float, float]:
    width = max(map(len, lines)) * _CHARACTER + 2 * _MARGIN
    return round(width, 1), round(len(lines) * _LINE + 2 * _MARGIN, 1)
