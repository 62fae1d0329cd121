"""One of the two files: its functions as instructions that can be compared, and as matching sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from weft.bcsd.difference.content import Line, Reader
from weft.bcsd.disassemble.interface import Block, Edge, Flag, Function
from weft.bcsd.lift.apart.wire import pack_code
from weft.bcsd.lift.code import Surroundings
from weft.bcsd.lift.gather import code_of, surroundings_of
from weft.bcsd.matching.side import Side, SideRequest, read_side
from weft.bcsd.read import open_image
from weft.bcsd.read.still import Still
from weft.errors import InputError
from weft.platform.processes import Limits, run_bounded


class Code(NamedTuple):
    """One function.

    Args:
        name: As the file says, or ``sub_…``.
        aliases: Further names.
        address: Of its first byte.
        size: In bytes.
        lines: Its instructions.
        blocks: Its basic blocks.
        edges: Between them.
        flags: What a reader should know.
        digest: Of its bytes.
        packed: What the lifter reads.
        tables: Its jumps through tables: where each entry leads, by instruction; -1 for out of the function.
    """

    name: str
    aliases: tuple[str, ...]
    address: int
    size: int
    lines: tuple[Line, ...]
    blocks: tuple[Block, ...]
    edges: tuple[Edge, ...]
    flags: tuple[Flag, ...]
    digest: str
    packed: bytes
    tables: tuple[tuple[int, ...], ...] = ()

    @property
    def named(self) -> bool:
        """Whether the file has a name for it."""
        return self.name != f"sub_{self.address:x}"


@dataclass(frozen=True)
class Version:
    """One of the two files; sequences are in the order of addresses.

    Args:
        side: As matching sees it.
        codes: Its functions.
        around: What lifting needs to know of the file.
    """

    side: Side
    codes: Sequence[Code]
    around: Surroundings

    @property
    def architecture(self) -> str:
        """Its processor."""
        return self.around.architecture

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def rows(self) -> dict[int, int]:
        """Address → row."""
        return {code.address: row for row, code in enumerate(self.codes)}

    def shown(self, row: int) -> str:
        """The name of a function as its programmer wrote it."""
        name = self.codes[row].name
        return self.side.readable.get(name, name)


class VersionRequest(NamedTuple):
    """What to read: a binary, and the name of a disassembler."""

    path: str
    disassembler: str = "auto"

    def __str__(self) -> str:
        return self.path


def read_versions(old: str, new: str, disassembler: str, limits: Limits) -> tuple[Version, Version]:
    """Read both files in bounded processes.

    Raises:
        InputError: One cannot be read, holds no function, or they are for different processors.
        LimitError: One took too long or too much memory.
    """
    found: list[Version] = []
    requests = [VersionRequest(path, disassembler) for path in (old, new)]
    for outcome in run_bounded(read_version, requests, workers=2, limits=limits):
        if outcome.error is not None:
            raise outcome.error
        if outcome.value is None:
            raise InputError("no function found", where=outcome.item.path)
        found.append(outcome.value)
    first, second = found
    if first.architecture != second.architecture:
        raise InputError(
            f"{first.architecture} and {second.architecture}: a difference of processors is no difference of versions",
            where=f"{old}, {new}",
            hint="weft bcsd match pairs functions across processors",
        )
    return first, second


def read_version(request: VersionRequest) -> Version:
    """Read one file in this process.

    Raises:
        InputError: It cannot be read, or holds no function.
    """
    still = Still(request.path)
    side = read_side(SideRequest(request.path, request.disassembler, listings=True, lifter="none"))
    image = open_image(request.path)
    reader = Reader(image)
    codes = [
        _code(function, reader, pack_code(code_of(image, function, tables=True)))
        for function in side.functions
    ]
    still.check()
    return Version(replace(side, functions=()), codes, surroundings_of(image))


def _code(function: Function, reader: Reader, packed: bytes) -> Code:
    place = {instruction[0]: index for index, instruction in enumerate(function.instructions)}
    return Code(
        name=function.name,
        aliases=tuple(function.aliases),
        address=function.address,
        size=function.size,
        lines=tuple(reader.lines(function)),
        blocks=tuple(function.blocks),
        edges=tuple(function.edges),
        flags=tuple(function.flags),
        digest=function.digest,
        tables=tuple(
            tuple(place.get(entry, -1) for entry in entries) for _, entries in sorted(function.tables.items())
        ),
        packed=packed,
    )
