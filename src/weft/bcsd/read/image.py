"""What a binary is, whatever its format: regions of mapped bytes and what its tables say about them."""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from weft.bcsd.architectures import architecture_named

if TYPE_CHECKING:
    from weft.bcsd.read.debug.look import Looked

Format = Literal["elf", "pe", "macho"]


@dataclass(frozen=True, slots=True)
class Region:
    """A stretch of mapped bytes with one purpose: a section, or a segment where sections are absent.

    Args:
        name: The section's name; empty for a segment.
        start: The first address.
        data: Its bytes in the file. Zero-filled tails (``.bss``) hold no bytes.
        size: The size in memory, at least ``len(data)``.
        executable: Whether it holds code.
        writable: Whether the program may write to it.
    """

    name: str
    start: int
    data: memoryview
    size: int
    executable: bool
    writable: bool

    @property
    def end(self) -> int:
        """The first address after the region."""
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named function.

    Args:
        name: Its name.
        address: Where it begins.
        size: 0 where the table does not say.
        typed: Whether the table calls it a function; a label otherwise.
    """

    name: str
    address: int
    size: int
    typed: bool = True


@dataclass(frozen=True, slots=True)
class UnwindRange:
    """A stretch of code that the unwind tables describe as one piece.

    Args:
        start: The first address.
        end: The first address after it; equal to ``start`` where the table holds starts only.
        part: Whether the frame is already set up at the first instruction: a split-off ``.cold`` piece.
    """

    start: int
    end: int
    part: bool = False


class RegionMap:
    """Finds the region that holds an address, in logarithmic time."""

    def __init__(self, regions: list[Region]) -> None:
        self.regions = sorted(
            (region for region in regions if region.size > 0), key=lambda region: region.start
        )
        self._starts = [region.start for region in self.regions]

    def at(self, address: int) -> Region | None:
        """The region that holds ``address``, the last one that starts at or before it if several do."""
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        region = self.regions[position]
        return region if address < region.end else None


@dataclass
class Image:
    """One binary, parsed.

    Args:
        path: Where it came from: for messages only, never part of a token.
        format: ``"elf"``, ``"pe"`` or ``"macho"``.
        architecture: The name of the instruction set, one of ``weft.bcsd.architectures``.
        big_endian: Whether data is big-endian.
        fixed_base: Whether absolute addresses in code are final (not position-independent).
        code: The executable regions.
        data: Every mapped region, for reading bytes at an address.
        symbols: Named functions inside ``code``.
        unwind: What the unwind tables cover, sorted.
        entries: Other addresses known to be functions: the entry point, constructors, destructors.
        begins: Where the loader enters the program: its entry point, initialiser and finaliser, the first
            constructor and destructor. Compilers and C libraries provide them.
        stubs: Address of an import stub (a PLT entry) → name of what it calls.
        stub_ranges: ``(start, end)`` of the code that holds only stubs.
        slots: Address of a pointer that the loader fills → name of what it points to.
        pointers: Address of a pointer that the loader relocates → the address it will hold.
        thumb: Addresses of functions whose pointers carry the architecture's mode bit (Thumb code on ARM).
        exports: Name → address of functions defined here that other files may call: this file reaches its
            own ones through stubs too, and such a call is an internal one.
        remarks: What a person should know who relies on what was found here.
        relocatable: Whether it is an object, which need not hold what its functions call.
        global_pointer: What code on MIPS counts the places of pointers from; None where there is no such thing.
        offset_tables: ``(start, end)`` of tables of addresses that code on MIPS reads by way of ``gp``.
        looked: Where its debug file was looked for; None where it needs none.
    """

    path: str
    format: Format
    architecture: str
    big_endian: bool
    fixed_base: bool
    code: list[Region]
    data: list[Region]
    symbols: list[Symbol] = field(default_factory=list)
    unwind: list[UnwindRange] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    stubs: dict[int, str] = field(default_factory=dict)
    stub_ranges: list[tuple[int, int]] = field(default_factory=list)
    slots: dict[int, str] = field(default_factory=dict)
    pointers: dict[int, int] = field(default_factory=dict)
    thumb: set[int] = field(default_factory=set)
    exports: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    relocatable: bool = False
    global_pointer: int | None = None
    offset_tables: list[tuple[int, int]] = field(default_factory=list)
    looked: Looked | None = None

    @cached_property
    def code_map(self) -> RegionMap:
        """The executable regions, searchable."""
        return RegionMap(self.code)

    @cached_property
    def data_map(self) -> RegionMap:
        """All mapped regions, searchable."""
        return RegionMap(self.data)

    @cached_property
    def pointer_size(self) -> int:
        """Bytes of an address."""
        return architecture_named(self.architecture).pointer_size

    @property
    def looked_text(self) -> str:
        """``looked`` in one line; empty where it needs no debug file."""
        return "" if self.looked is None else self.looked.to_text()

    @property
    def code_size(self) -> int:
        """Bytes of code in the file."""
        return sum(len(region.data) for region in self.code)

    def read(self, address: int, size: int) -> bytes:
        """Up to ``size`` bytes at ``address``; fewer, possibly none, where the file holds fewer."""
        region = self.data_map.at(address) or self.code_map.at(address)
        if region is None or size <= 0:
            return b""
        offset = address - region.start
        return bytes(region.data[offset : offset + size])

    def code_at(self, start: int, end: int) -> bytes:
        """The code bytes of ``[start, end)``, cut at the region's end."""
        region = self.code_map.at(start)
        if region is None or end <= start:
            return b""
        return bytes(region.data[start - region.start : end - region.start])

    def integer(self, address: int, size: int, *, signed: bool = False) -> int | None:
        """The integer of ``size`` bytes at ``address``, None where nothing is mapped."""
        raw = self.read(address, size)
        if len(raw) < size:
            return None
        return int.from_bytes(raw, "big" if self.big_endian else "little", signed=signed)

    def pointer(self, address: int) -> int | None:
        """The code or data address that the pointer at ``address`` holds once the file is loaded."""
        relocated = self.pointers.get(address)
        return relocated if relocated is not None else self.integer(address, self.pointer_size)

    @cached_property
    def _stub_bounds(self) -> tuple[list[int], list[int]]:
        ordered = sorted(self.stub_ranges)
        return [start for start, _ in ordered], [end for _, end in ordered]

    def in_stubs(self, address: int) -> bool:
        """Whether ``address`` lies in code that holds only import stubs."""
        starts, ends = self._stub_bounds
        position = bisect_right(starts, address) - 1
        return position >= 0 and address < ends[position]


def unpack_words(data: bytes, size: int, *, signed: bool, big_endian: bool) -> list[int]:
    """All whole integers of ``size`` bytes (1, 2, 4 or 8) in ``data``."""
    letter = {1: "b", 2: "h", 4: "i", 8: "q"}[size]
    count = len(data) // size
    order = ">" if big_endian else "<"
    return list(struct.unpack_from(f"{order}{count}{letter if signed else letter.upper()}", data))


def remark_cut(image: Image, needed: int, have: int) -> None:
    """Remark that a file is shorter than its headers say."""
    if needed > have:
        image.remarks.append(f"cut short: its headers tell of {needed} bytes, {have} are there")
