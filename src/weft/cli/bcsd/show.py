"""``weft bcsd show``: a file's functions, or one function's blocks, edges and tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.bcsd.outputs import spare_binaries
from weft.cli.bcsd.patience import telling
from weft.cli.options import Parser, add_json, add_quiet, add_reading, add_selector, limits_of
from weft.cli.table import table

if TYPE_CHECKING:
    from weft.bcsd.show import Detail, Line


def parser() -> Parser:
    """The arguments of ``weft bcsd show``."""
    result = Parser("bcsd show", "List a binary's functions, or show one with its graph and tokens.")
    add_selector(result)
    result.add_argument(
        "--svg", type=Path, metavar="FILE", help="draw the function's graph (needs dot of graphviz)"
    )
    result.add_argument("--dot", type=Path, metavar="FILE", help="write the function's graph as DOT")
    add_reading(result)
    add_quiet(result)
    add_json(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd show``."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.select import parse_selector
    from weft.bcsd.show import Detail, Request, look, look_record
    from weft.cli.bcsd.remarks import say
    from weft.errors import ConfigError

    selector = parse_selector(arguments.selector)
    if selector.function is None and (arguments.svg or arguments.dot):
        raise ConfigError("--svg and --dot draw one function", hint="name it: FILE:FUNCTION")
    spare_binaries((arguments.dot, arguments.svg), [selector.path])
    request = Request(selector.path, selector.function, arguments.disassembler)
    limits = limits_of(arguments)
    with telling("weft bcsd show: reading", [selector.path], quiet=arguments.quiet):
        seen = look(request, limits)
    found, remarks = seen
    say(selector.path, remarks)
    if isinstance(found, Detail):
        draw(found, arguments.svg, arguments.dot)
    if arguments.json:
        print(json.dumps(look_record(seen)))
    else:
        print(describe(found) if isinstance(found, Detail) else listing(found))
    return 0


def draw(detail: Detail, svg: Path | None, dot: Path | None) -> None:
    """Write the pictures that were asked for."""
    from weft.bcsd.draw import to_dot, to_svg
    from weft.platform.files import write_text

    for path, text in ((dot, to_dot), (svg, to_svg)):
        if path is not None:
            write_text(path, text(detail.function))


def listing(lines: list[Line]) -> str:
    """One line per function; names come last, so that the longest makes no other line longer."""
    rows = [
        (
            f"{line.address:#x}",
            line.size,
            line.blocks,
            line.edges,
            line.instructions,
            ", ".join(line.flags),
            line.demangled,
        )
        for line in lines
    ]
    incomplete = sum("cfg_incomplete" in line.flags for line in lines)
    told = f"{len(lines)} functions, {incomplete} with an indirect jump left unresolved (cfg_incomplete)"
    heads = (">address", ">size", ">blocks", ">edges", ">instructions", "remarks", "name")
    return f"{table(heads, rows)}\n{told}"


def describe(detail: Detail) -> str:
    """One function: a head, then block by block its edges, instructions and tokens."""
    function = detail.function
    flags = f"  [{', '.join(function.flags)}]" if function.flags else ""
    rows = [
        f"{detail.demangled} at {function.address:#x}, {function.size} bytes, {len(function.blocks)} blocks, "
        f"{len(function.edges)} edges, {len(function.instructions)} instructions{flags}"
    ]
    if function.imports:
        rows.append(f"imports: {', '.join(function.imports)}")
    for number, block in enumerate(function.blocks):
        leaving = ", ".join(
            f"{edge.target} ({edge.kind.name.lower().replace('_', '-')})"
            for edge in function.edges
            if edge.source == number
        )
        rows.append(f"\nblock {number} → {leaving or 'out'}")
        for index in range(block.start, block.end):
            address, _, mnemonic, operands = function.instructions[index]
            slots = " ".join(slot for slot in detail.tokens[index] if slot != "none")
            rows.append(f"  {address:#8x}  {mnemonic + ' ' + operands:<48}  {slots}")
    return "\n".join(rows)
