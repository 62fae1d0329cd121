"""A function's control-flow graph as a picture: our own DOT text, graphviz' ``dot`` for the layout."""

from __future__ import annotations

import shutil
import subprocess

from weft.bcsd.disassemble.interface import EdgeKind, Function
from weft.errors import InputError, LimitError, MissingExtraError

#: Blocks beyond which a drawing helps nobody and takes minutes.
DRAWN_BLOCKS = 400
_LINES = 12
_SECONDS = 60
_STYLES = {
    EdgeKind.FALL_THROUGH: 'color="#666666"',
    EdgeKind.TAKEN: 'color="#1f6f3f"',
    EdgeKind.SWITCH: 'color="#1f4f9f"',
    EdgeKind.INDIRECT: 'color="#9f3f1f", style=dashed',
}


def to_dot(function: Function) -> str:
    """The graph in DOT: one box per block with its first instructions, one arrow per edge, coloured by kind."""
    lines = [
        "digraph cfg {",
        '  node [shape=box, fontname="monospace", fontsize=9];',
        '  edge [fontname="monospace", fontsize=8];',
        f"  label={_quoted(f'{function.name} at {function.address:#x}')};",
    ]
    for number, block in enumerate(function.blocks):
        shown = function.instructions[block.start : min(block.end, block.start + _LINES)]
        text = [f"{number}: {function.instructions[block.start][0]:#x}"]
        text += [f"{mnemonic} {operands}".rstrip() for _, _, mnemonic, operands in shown]
        if block.end - block.start > _LINES:
            text.append(f"… {block.end - block.start - _LINES} more")
        label = "".join(_escaped(line) + r"\l" for line in text)
        lines.append(f'  b{number} [label="{label}"];')
    lines += [f"  b{edge.source} -> b{edge.target} [{_STYLES[edge.kind]}];" for edge in function.edges]
    return "\n".join([*lines, "}", ""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def to_svg(function: Function) -> str:
    """The graph as SVG.

    Raises:
        InputError: The function has more than :data:`DRAWN_BLOCKS` blocks.
        MissingExtraError: ``dot`` is not installed.
        LimitError: The layout took over a minute.
    """
    if len(function.blocks) > DRAWN_BLOCKS:
        raise InputError(
            f"{len(function.blocks)} blocks are too many to draw",
            where=function.name,
            hint=f"at most {DRAWN_BLOCKS}; --dot writes the graph without a layout",
        )
    program = shutil.which("dot")
    if program is None:
        raise MissingExtraError("graphviz' program `dot`", hint="apt install graphviz, or use --dot")
    try:
        done = subprocess.run(
            [program, "-Tsvg"],
            input=to_dot(function),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise LimitError(f"the layout took more than {_SECONDS} s", where=function.name) from error
    except subprocess.CalledProcessError as error:
        raise InputError(f"dot failed: {error.stderr.strip()[:200]}", where=function.name) from error
    return done.stdout
