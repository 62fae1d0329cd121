"""One of the two files: its functions as a table, and what they mention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from weft.bcsd.disassemble.choose import choose_disassembler
from weft.bcsd.disassemble.interface import Flag, Function
from weft.bcsd.lift.choose import ImageLifter
from weft.bcsd.matching.facts import constants, strings
from weft.bcsd.read import open_image
from weft.bcsd.read.demangle import demangle
from weft.bcsd.read.image import Image
from weft.bcsd.read.members import content_of, list_slices, split_member
from weft.bcsd.read.names import is_made_up
from weft.bcsd.read.runtime import is_runtime, is_stub
from weft.bcsd.read.still import Still
from weft.bcsd.table import TableBuilder
from weft.bcsd.use.extract_files import hash_file
from weft.bcsd.use.remarks import file_remarks, nothing_found, processor_remarks
from weft.errors import InputError
from weft.platform.memory import collect_seldom
from weft.platform.processes import Limits, run_bounded

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Instructions of a function of start-up code, at most.
START_UP = 64


class SideRequest(NamedTuple):
    """What to read.

    Args:
        path: The binary.
        disassembler: Its name.
        min_blocks: Functions with fewer blocks are left out.
        listings: Whether instructions are wanted too, for a report.
        lifter: See :func:`weft.bcsd.lift.choose.lifter_named`.
        cache: See :class:`weft.bcsd.lift.choose.ImageLifter`.
    """

    path: str
    disassembler: str = "auto"
    min_blocks: int = 0
    listings: bool = False
    lifter: str = "auto"
    cache: bool = True

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Side:
    """A file as matching sees it; every sequence is in the order of the table's rows.

    Args:
        path: As it was named.
        sha256: Of the whole file.
        base: The address that the file's own addresses count from: rename scripts add the loaded one. None of an
            object, whose sections every program lays out in its own way.
        table: The functions, by address: see :mod:`weft.bcsd.table`.
        constants: Immediates of each.
        strings: Texts that each points to.
        functions: Each with its instructions; empty unless asked for.
        readable: Mangled name → the name as a programmer wrote it.
        remarks: What a reader should know about the file.
        begins: Where the loader enters the program: see :class:`weft.bcsd.read.image.Image`.
        debug_file: What a remark calls the debug file that names are from; empty for none.
    """

    path: str
    sha256: str
    base: int | None
    table: pa.Table
    constants: Sequence[Sequence[int]]
    strings: Sequence[Sequence[str]]
    functions: Sequence[Function] = ()
    readable: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    debug_file: str = ""
    begins: Sequence[int] = ()

    def __len__(self) -> int:
        return self.table.num_rows

    def keep(self, rows: Sequence[int]) -> Side:
        """The file as if it held only these functions, in this order; calls of the others lead nowhere."""
        return replace(
            self,
            table=self.table.take(pa.array(rows, pa.int64())),
            constants=[self.constants[row] for row in rows],
            strings=[self.strings[row] for row in rows],
            functions=[self.functions[row] for row in rows] if self.functions else (),
        )

    @property
    def architecture(self) -> str:
        """Its processor."""
        return self.table.column("architecture")[0].as_py() if len(self) else ""

    @cached_property
    def names(self) -> list[str]:
        """For people: nothing is decided by them, but what is start-up code."""
        return self.table.column("name").to_pylist()

    @cached_property
    def addresses(self) -> list[int]:
        """First addresses, ascending."""
        return self.table.column("address").to_pylist()

    @cached_property
    def num_blocks(self) -> NDArray[np.int64]:
        """Blocks of each."""
        return self.table.column("num_blocks").to_numpy().astype(np.int64)

    @cached_property
    def num_instructions(self) -> NDArray[np.int64]:
        """Instructions of each."""
        return self.table.column("num_instructions").to_numpy().astype(np.int64)

    @cached_property
    def imports(self) -> list[list[str]]:
        """Names of functions of other files that each calls: linking needs them, so ``strip`` leaves them."""
        return self.table.column("imports").to_pylist()

    @cached_property
    def calls(self) -> list[list[int]]:
        """Rows of the functions that each calls."""
        rows = {address: row for row, address in enumerate(self.addresses)}
        return [
            [rows[address] for address in callees if address in rows and rows[address] != caller]
            for caller, callees in enumerate(self.table.column("callees").to_pylist())
        ]

    @cached_property
    def start_up(self) -> set[int]:
        """Rows of start-up code, by no name: short, and entered by the loader, or called by what is."""
        entered = {row for row, address in enumerate(self.addresses) if address in self.begins}
        called = {callee for row in self._short(entered) for callee in self.calls[row]}
        return self._short(entered | called)

    @cached_property
    def stubs(self) -> set[int]:
        """Rows of start-up code that is nothing else: by their names, and by their places where they have none.

        What the loader enters calls functions of libraries, too: of these only what calls nothing and stands beside it.
        """
        entered = self._short({row for row, address in enumerate(self.addresses) if address in self.begins})
        leaves = {row for row in self.start_up - entered if not self.calls[row]}
        while beside := {row for row in leaves if entered & {row - 1, row + 1}}:
            entered |= beside
            leaves -= beside
        nameless = {row for row in entered if is_made_up(self.names[row])}
        return {row for row, name in enumerate(self.names) if is_stub(name)} | nameless

    @cached_property
    def runtime(self) -> set[int]:
        """Rows of what compilers and C libraries put into every program: start-up code, and what a name tells."""
        return {row for row, name in enumerate(self.names) if is_runtime(name)} | self.start_up

    def _short(self, rows: set[int]) -> set[int]:
        return {row for row in rows if self.num_instructions[row] <= START_UP}

    @cached_property
    def callers(self) -> list[list[int]]:
        """Rows of the functions that call each."""
        found: list[list[int]] = [[] for _ in self.calls]
        for caller, callees in enumerate(self.calls):
            for callee in callees:
                found[callee].append(caller)
        return found


def with_processor(side: Side, trained: Sequence[str]) -> Side:
    """The file, with a remark where a model that was trained on other processors is asked about it."""
    said = processor_remarks(side.architecture, trained)
    return replace(side, remarks=[*side.remarks, *said])


def read_sides(requests: Sequence[SideRequest], workers: int, limits: Limits) -> list[Side]:
    """Read files in bounded processes.

    Raises:
        InputError: A file cannot be read, or holds no function.
        LimitError: One took too long or too much memory.
    """
    sides: list[Side] = []
    for outcome in run_bounded(read_side, requests, workers=workers, limits=limits):
        if outcome.error is not None:
            raise outcome.error
        if outcome.value is None:
            raise InputError("no function found", where=outcome.item.path)
        sides.append(outcome.value)
    return sides


def read_side(request: SideRequest) -> Side:
    """Read one file in this process.

    Raises:
        InputError: The file cannot be read, or holds no function of that many blocks.
    """
    collect_seldom()
    still = Still(request.path)
    image = open_image(request.path)
    chosen = choose_disassembler(request.disassembler)
    sha256 = hash_file(request.path)
    kept: list[tuple[int, int, list[int], list[str], Function | None]] = []
    spans: list[tuple[int, int]] = []
    undecoded: set[tuple[int, int]] = set()
    with ImageLifter(image, request.lifter, cache=request.cache) as lifting:
        builder = TableBuilder(image, request.path, sha256, chosen.name, lifting, request.min_blocks)
        for function in chosen.functions(image):
            spans.append((function.address, function.size))
            if Flag.UNDECODED in function.flags:
                undecoded.add(spans[-1])
            if not builder.add(function):
                continue
            kept.append(
                (
                    function.address,
                    function.size,
                    constants(function, image.architecture),
                    strings(function, image),
                    function if request.listings else None,
                )
            )
        builder.follow_calls()
    still.check()
    if not kept:
        smaller = f", of {len(spans)} functions" if spans else ""
        least = f" of at least {request.min_blocks} blocks" if spans else ""
        raise nothing_found(image, f"no function{least} found{smaller}")
    # As the builder sorts its rows.
    kept.sort(key=lambda entry: entry[:2])
    table = pa.concat_tables(builder.tables())
    names = {*table.column("name").to_pylist(), *chain.from_iterable(table.column("aliases").to_pylist())}
    return Side(
        path=request.path,
        sha256=sha256,
        base=_base(request.path, image),
        table=table,
        constants=[entry[2] for entry in kept],
        strings=[entry[3] for entry in kept],
        functions=[entry[4] for entry in kept if entry[4] is not None],
        readable={name: text for name in names if (text := demangle(name)) != name},
        remarks=file_remarks(image, spans, undecoded) + lifting.remarks,
        debug_file=image.looked.used if image.looked is not None else "",
        begins=tuple(image.begins),
    )


def _base(path: str, image: Image) -> int | None:
    """The preferred load address: of an ELF file that of its lowest segment, wherever in the file that stands."""
    if image.relocatable:
        return None
    if image.format == "elf":
        return min(region.start for region in image.data if region.size)
    import lief

    # A slice or a member is no file of its own to lief.
    member = split_member(path)[1] is not None
    content = content_of(path)
    slices = list_slices(content)
    if slices:
        content = content[slices[0].start : slices[0].start + slices[0].size]
    parsed: Any = lief.parse(bytes(content) if member or slices else path)
    return int(parsed.imagebase) if parsed is not None and hasattr(parsed, "imagebase") else 0
