"""What is read of an ELF file, and how a sound one is read without lief, which takes half a second to load.

Whatever is not plainly sound (a table that reaches beyond the file, a form of relocations that is seldom met), and
every object, static program and file for MIPS is left to lief.

Source: System V ABI, "Object Files" and "Dynamic Linking".
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

PROGRAM, LIBRARY = 2, 3
LOAD, DYNAMIC, EH_FRAME, EXIDX = 1, 2, 0x6474E550, 0x70000001
NO_BITS = 8
WRITABLE, ALLOCATED, CODE = 1, 2, 4
_RELA, _REL, SYMBOLS, _DYNAMIC_SYMBOLS = 4, 9, 2, 11
#: The machines that are read here, as lief calls them, and the relocation of each that adds to what stands there.
_MACHINES = {3: "I386", 21: "PPC64", 40: "ARM", 62: "X86_64", 183: "AARCH64", 243: "RISCV"}
_MOVED_IN_PLACE = {3: 8, 40: 23}
#: Tags: the tables of relocations with their sizes, and forms of such tables that are not read here.
_TABLES = ((7, 8), (17, 18), (23, 2))
_OTHER_FORMS = {35, 36, 37, *range(0x6000000D, 0x60000014), *range(0x6FFFE000, 0x6FFFE004)}
_KIND = 20
#: Types and bindings of symbols.
_LABEL, _FUNCTIONS, _SHARED = 0, (2, 10), (1, 2)
#: Bytes of a name.
_LONGEST = 1 << 12


class Segment(NamedTuple):
    """A segment, its flags as in the file."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int


class Section(NamedTuple):
    """A section, its flags as in the file."""

    name: str | bytes
    type: int
    flags: int
    address: int
    offset: int
    size: int


class FunctionSymbol(NamedTuple):
    """A symbol of a function, or a label without a type that other files may name, as assembly has them.

    Args:
        dynamic: Whether it stands in the table that the loader reads, or in the other one.
        name: Its name.
        section: Number of its section.
        value: Its address; in an object its place in the section.
        size: 0 where the table does not say.
        typed: Whether the table calls it a function.
    """

    dynamic: bool
    name: str | bytes
    section: int
    value: int
    size: int
    typed: bool


class Relocation(NamedTuple):
    """A pointer that the loader fills.

    Args:
        address: Where it is.
        name: Of its symbol; empty where it has none.
        value: Of its symbol, 0 where that is defined elsewhere.
        addend: What is added; None where it stands at the place itself.
        moved: Whether what stands there is moved with the file.
    """

    address: int
    name: str | bytes
    value: int
    addend: int | None
    moved: bool


@dataclass(frozen=True)
class View:
    """An ELF file.

    Args:
        machine: As lief calls it.
        bits: 32 or 64.
        big_endian: Whether its words are.
        type: The file's.
        entry: Where the program begins.
        tables_end: The end of the section headers in the file.
        segments: In order.
        sections: In order.
        symbols: Of functions, and labels.
        relocations: Of what is loaded.
        tags: The dynamic section.
    """

    machine: str
    bits: int
    big_endian: bool
    type: int
    entry: int
    tables_end: int
    segments: list[Segment]
    sections: list[Section]
    symbols: Iterable[FunctionSymbol]
    relocations: Iterable[Relocation]
    tags: dict[int, int]


class _UnsoundError(Exception):
    """Left to lief."""


def plain_view(content: memoryview) -> View | None:
    """The view of a sound program or library that is loaded dynamically; None for all others."""
    try:
        return _Reader(content).view()
    except (_UnsoundError, struct.error, IndexError):
        return None


def plain_symbols(content: memoryview) -> tuple[list[Section], list[FunctionSymbol]] | None:
    """The sections of a file and what its full table says of functions, whatever else is there; None if unsound."""
    try:
        reader = _Reader(content)
        headers, sections = reader.sections()
        full = next((reader.table(row, headers) for row in headers if row[1] == SYMBOLS), None)
        return sections, [] if full is None else list(_functions({SYMBOLS: full}, SYMBOLS))
    except (_UnsoundError, struct.error, IndexError):
        return None


def holds_debug_alone(content: memoryview) -> bool:
    """Whether a file has the headers of code whose bytes are in another file, as a debug file has."""
    try:
        _, sections = _Reader(content).sections()
    except (_UnsoundError, struct.error, IndexError):
        return False
    code = [section for section in sections if section.flags & CODE and section.size]
    return bool(code) and all(section.type == NO_BITS for section in code)


def _need(holds: bool) -> None:
    if not holds:
        raise _UnsoundError


class _Reader:
    def __init__(self, content: memoryview) -> None:
        self.content = content
        _need(len(content) > 64 and content[4] in (1, 2) and content[5] in (1, 2) and content[6] == 1)
        self.wide = content[4] == 2
        self.order = "<" if content[5] == 1 else ">"

    def view(self) -> View:
        """The whole of it."""
        kind, machine, _, entry, ph, sh, _, _, ph_size, ph_count, _, sh_count, _ = self.header()
        _need(kind in (PROGRAM, LIBRARY) and machine in _MACHINES and 0 < ph_count < 0xFFFF)
        _need(ph_size == (56 if self.wide else 32))
        segments = [self.segment(row) for row in self.rows("IIQQQQQQ" if self.wide else "8I", ph, ph_count)]
        headers, sections = self.sections()
        for section in sections:
            _need(section.type in (0, NO_BITS) or section.offset + section.size <= len(self.content))
        _need(all(part.offset + part.file_size <= len(self.content) for part in segments))
        tags = self.tags(segments)
        symbols: dict[int, tuple[list[tuple[int, ...]], memoryview]] = {}
        for row in headers:
            if row[1] in (SYMBOLS, _DYNAMIC_SYMBOLS):
                _need(row[1] not in symbols)
                symbols[row[1]] = self.table(row, headers)
        _need(_DYNAMIC_SYMBOLS in symbols)
        relocations = self.relocations(segments, sections, tags, symbols[_DYNAMIC_SYMBOLS], machine)
        return View(
            _MACHINES[machine],
            64 if self.wide else 32,
            self.order == ">",
            kind,
            entry,
            sh + sh_count * (64 if self.wide else 40),
            segments,
            sections,
            [found for table in (SYMBOLS, _DYNAMIC_SYMBOLS) for found in _functions(symbols, table)],
            relocations,
            tags,
        )

    def header(self) -> tuple[int, ...]:
        """What stands behind the mark: type, machine, …, the number of the section that holds names."""
        return next(self.rows("HHIQQQIHHHHHH" if self.wide else "HHIIIIIHHHHHH", 16, 1))

    def sections(self) -> tuple[list[tuple[int, ...]], list[Section]]:
        """The headers of the sections, as they are and as sections."""
        *_, sh, _, _, _, _, size, count, names = self.header()
        _need(size == (64 if self.wide else 40) and names < count < 0xFF00)
        headers = list(self.rows("IIQQQQIIQQ" if self.wide else "10I", sh, count))
        text = self.inside(headers[names][4], headers[names][5])
        return headers, [Section(_text(text, row[0]), *row[1:6]) for row in headers]

    def table(
        self, row: tuple[int, ...], headers: list[tuple[int, ...]]
    ) -> tuple[list[tuple[int, ...]], memoryview]:
        """The symbols of a section, and their names."""
        _need(row[9] == (24 if self.wide else 16) and row[6] < len(headers))
        strings = headers[row[6]]
        return self.symbols(row[4], row[5] // row[9]), self.inside(strings[4], strings[5])

    def inside(self, offset: int, size: int) -> memoryview:
        """A stretch of the file, all of which is there."""
        _need(offset + size <= len(self.content))
        return self.content[offset : offset + size]

    def rows(self, form: str, offset: int, count: int) -> Iterator[tuple[int, ...]]:
        """So many rows of one form."""
        form = self.order + form
        return struct.iter_unpack(form, self.inside(offset, struct.calcsize(form) * count))

    def segment(self, row: tuple[int, ...]) -> Segment:
        """A program header: 64-bit files have the flags in the second place, others in the seventh."""
        if self.wide:
            kind, flags, offset, address, _, file_size, memory_size, _ = row
        else:
            kind, offset, address, _, file_size, memory_size, flags, _ = row
        return Segment(kind, flags, offset, address, file_size, memory_size)

    def tags(self, segments: list[Segment]) -> dict[int, int]:
        """The dynamic section up to its end."""
        found = [segment for segment in segments if segment.type == DYNAMIC]
        _need(len(found) == 1)
        size = 16 if self.wide else 8
        tags: dict[int, int] = {}
        for tag, value in self.rows("QQ" if self.wide else "II", found[0].offset, found[0].file_size // size):
            if not tag:
                break
            tags[tag] = value
        _need(_OTHER_FORMS.isdisjoint(tags))
        return tags

    def symbols(self, offset: int, count: int) -> list[tuple[int, ...]]:
        """Rows of name, information, section, value, size."""
        if self.wide:
            rows = self.rows("IBBHQQ", offset, count)
            return [(name, info, section, value, size) for name, info, _, section, value, size in rows]
        rows = self.rows("IIIBBH", offset, count)
        return [(name, info, section, value, size) for name, value, size, info, _, section in rows]

    def relocations(
        self,
        segments: list[Segment],
        sections: list[Section],
        tags: dict[int, int],
        symbols: tuple[list[tuple[int, ...]], memoryview],
        machine: int,
    ) -> list[Relocation]:
        """All that the dynamic section names."""
        held, text = symbols
        places: list[tuple[int, int]] = []
        result: list[Relocation] = []
        for table, length in _TABLES:
            begin, size = tags.get(table, 0), tags.get(length, 0)
            if not begin or not size:
                continue
            offset = _offset(segments, begin, size)
            added = table == 7 or (table == 23 and tags.get(_KIND) == 7)
            entry = (24 if added else 16) if self.wide else (12 if added else 8)
            _need(size % entry == 0 and (added or table == 17 or tags.get(_KIND) == 17))
            places.append((begin, begin + size))
            form = ("QQq" if added else "QQ") if self.wide else ("IIi" if added else "II")
            for address, info, *addend in self.rows(form, offset, size // entry):
                number, kind = (info >> 32, info & 0xFFFFFFFF) if self.wide else (info >> 8, info & 0xFF)
                name, _, section, value, _ = held[number]
                moved = kind == _MOVED_IN_PLACE.get(machine)
                what = _text(text, name) if number else b""
                result.append(
                    Relocation(address, what, value if section else 0, addend[0] if added else None, moved)
                )
        for section in sections:
            if section.type in (_RELA, _REL) and section.size:
                low, high = section.address, section.address + section.size
                _need(bool(section.flags & ALLOCATED) and any(a <= low and high <= b for a, b in places))
        return result


def _offset(segments: list[Segment], address: int, size: int) -> int:
    """Where in the file stands what is loaded to an address."""
    for segment in segments:
        if segment.type == LOAD and segment.address <= address <= segment.address + segment.file_size - size:
            return segment.offset + address - segment.address
    raise _UnsoundError


def _text(strings: memoryview, at: int) -> bytes:
    """A name of a table of strings, up to its zero."""
    _need(at < len(strings))
    for longest in (128, _LONGEST):
        held, found, _ = bytes(strings[at : at + longest]).partition(b"\0")
        if found:
            return held
    raise _UnsoundError


def _functions(
    symbols: dict[int, tuple[list[tuple[int, ...]], memoryview]], table: int
) -> Iterator[FunctionSymbol]:
    rows, text = symbols.get(table, ([], memoryview(b"")))
    for name, info, section, value, size in rows:
        typed = info & 15 in _FUNCTIONS
        if section and (typed or (info & 15 == _LABEL and info >> 4 in _SHARED)):
            yield FunctionSymbol(table == _DYNAMIC_SYMBOLS, _text(text, name), section, value, size, typed)
