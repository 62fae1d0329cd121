"""Looking at one file: its functions, or everything about one of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from weft.bcsd.disassemble.choose import choose_disassembler
from weft.bcsd.disassemble.interface import Flag, Function
from weft.bcsd.read import open_image
from weft.bcsd.read.demangle import demangle
from weft.bcsd.read.still import Still
from weft.bcsd.represent import Normaliser, load_vocabulary
from weft.bcsd.select import find_function, may_mean
from weft.bcsd.use.remarks import file_remarks, nothing_found
from weft.errors import InputError
from weft.platform.processes import Limits, run_bounded


class Request(NamedTuple):
    """What to look at."""

    path: str
    function: str | None
    disassembler: str

    def __str__(self) -> str:
        return self.path


class Line(NamedTuple):
    """One function in the list of a file."""

    name: str
    address: int
    size: int
    blocks: int
    edges: int
    instructions: int
    flags: tuple[str, ...]
    aliases: tuple[str, ...]
    demangled: str


class Detail(NamedTuple):
    """One function with its token rows as text, one tuple of slots per instruction."""

    function: Function
    tokens: list[tuple[str, ...]]
    demangled: str


class Look(NamedTuple):
    """What was asked for, and what to know about the file."""

    found: list[Line] | Detail
    remarks: tuple[str, ...]


def look(request: Request, limits: Limits) -> Look:
    """Analyse a file in a bounded process.

    Returns:
        All functions, or, where one is asked for, its detail.

    Raises:
        InputError: The file or the function cannot be found or used.
        LimitError: It took too long or too much memory.
    """
    (outcome,) = run_bounded(_look, [request], workers=1, limits=limits)
    if outcome.error is not None:
        raise outcome.error
    if outcome.value is None:
        raise InputError("no function found", where=request.path)
    return outcome.value


def _look(request: Request) -> Look:
    still = Still(request.path)
    image = open_image(request.path)
    wanted = request.function
    lines: list[Line] = []
    undecoded: set[tuple[int, int]] = set()
    # Instructions are kept of what may be asked for alone: those of a large library are more than memory holds.
    kept: dict[Line, Function] = {}
    for function in choose_disassembler(request.disassembler).functions(image):
        line = _line(function, demangle(function.name) if wanted is None else "")
        lines.append(line)
        if Flag.UNDECODED in function.flags:
            undecoded.add((function.address, function.size))
        if wanted is not None and may_mean(function, wanted):
            kept[line] = function
    still.check()
    if not lines:
        raise nothing_found(image)
    lines.sort(key=lambda line: (line.address, line.size))
    remarks = file_remarks(image, [(line.address, line.size) for line in lines], undecoded)
    if wanted is None:
        return Look(lines, remarks)
    function = kept[lines[find_function(lines, wanted, request.path)]]
    texts = load_vocabulary().tokens
    rows = Normaliser(image.architecture).tokens(function)
    tokens = [tuple(texts[slot] for slot in row) for row in rows.tolist()]
    return Look(Detail(function, tokens, demangle(function.name)), remarks)


def _line(function: Function, demangled: str) -> Line:
    return Line(
        function.name,
        function.address,
        function.size,
        len(function.blocks),
        len(function.edges),
        len(function.instructions),
        tuple(str(flag) for flag in function.flags),
        function.aliases,
        demangled,
    )


def look_record(look: Look) -> dict[str, Any]:
    """What was asked for as JSON values: see ``docs/bcsd.md``."""
    if isinstance(look.found, Detail):
        return {"schema": 1, **detail_record(look.found), "remarks": list(look.remarks)}
    listed = [line_record(line) for line in look.found]
    return {"schema": 1, "functions": listed, "remarks": list(look.remarks)}


def line_record(line: Line) -> dict[str, Any]:
    """A listed function as JSON values."""
    record = {**line._asdict(), "flags": list(line.flags), "aliases": list(line.aliases)}
    if line.demangled == line.name:
        del record["demangled"]
    return record


def detail_record(detail: Detail) -> dict[str, Any]:
    """One function as JSON values: see ``docs/bcsd.md``."""
    function = detail.function
    blocks = [
        {
            "start": block.start,
            "end": block.end,
            "address": function.instructions[block.start][0],
        }
        for block in function.blocks
    ]
    instructions = [
        {"address": address, "text": f"{mnemonic} {operands}".rstrip(), "tokens": list(tokens)}
        for (address, _, mnemonic, operands), tokens in zip(function.instructions, detail.tokens, strict=True)
    ]
    return {
        "name": function.name,
        **({"demangled": detail.demangled} if detail.demangled != function.name else {}),
        "address": function.address,
        "size": function.size,
        "flags": [str(flag) for flag in function.flags],
        "aliases": list(function.aliases),
        "imports": list(function.imports),
        "callees": function.callees,
        "digest": function.digest,
        "blocks": blocks,
        "edges": [
            {"source": edge.source, "target": edge.target, "kind": edge.kind.name.lower()}
            for edge in function.edges
        ],
        "instructions": instructions,
    }
