"""What is lifted: the bytes of one function, cut into blocks, and what its file says about addresses."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

#: What small functions do that stand in the place of an instruction: see :class:`Surroundings`.
RETURNS, BY_WAY_OF = "return", "*"
_REACH = 1 << 15


class CodeBlock(NamedTuple):
    """One basic block.

    Args:
        address: Of its first instruction.
        data: Its bytes.
        lengths: Of its instructions.
        successors: Blocks that control may go to from here, by index: those of the disassembler, so that tables of
            jumps and calls that never return are known.
    """

    address: int
    data: bytes
    lengths: tuple[int, ...]
    successors: tuple[int, ...]


class FunctionCode(NamedTuple):
    """One function.

    Args:
        address: Of its entry; block 0 begins there.
        end: The first address after it.
        blocks: In address order.
        thumb: Whether it is Thumb code.
        data: All its bytes, constants between the blocks included.
        tables: Address of a jump through a table and that of each of its entries; left out where nobody asks.
    """

    address: int
    end: int
    blocks: tuple[CodeBlock, ...]
    thumb: bool = False
    data: bytes = b""
    tables: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class Surroundings:
    """What lifting needs to know of a file.

    Args:
        architecture: As the image names it.
        big_endian: Order of data's bytes.
        word: Bytes of an address.
        fixed_base: Whether absolute addresses in code are final.
        mapped: ``(start, end)`` of everything that the file maps.
        tables: ``(start, end)`` of sections that hold pointers only (``.got``).
        slots: Addresses of pointers that the loader fills, sorted.
        thunks: Address of a function that only tells where it was called from → the register that it writes; of one
            that only counts calls, and of a pointer to one → nothing; of one that returns for its caller →
            :data:`RETURNS`; of one that jumps to where a register points → :data:`BY_WAY_OF` and the register.
        held: Address of a pointer that nobody changes → what it holds; left out where nobody asks.
    """

    architecture: str
    big_endian: bool
    word: int
    fixed_base: bool
    mapped: tuple[tuple[int, int], ...]
    tables: tuple[tuple[int, int], ...] = ()
    slots: tuple[int, ...] = ()
    thunks: dict[int, str] = field(default_factory=dict)
    held: dict[int, int] = field(default_factory=dict)

    @cached_property
    def _slots(self) -> frozenset[int]:
        return frozenset(self.slots)

    @cached_property
    def _bounds(self) -> tuple[list[int], list[int]]:
        # Sections may lie inside one another.
        starts: list[int] = []
        ends: list[int] = []
        for start, end in sorted(self.mapped):
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        return starts, ends

    def maps(self, address: int) -> bool:
        """Whether an address lies in the file's memory."""
        starts, ends = self._bounds
        place = bisect_right(starts, address) - 1
        return place >= 0 and address < ends[place]

    def reaches(self, address: int) -> bool:
        """Whether a signed offset of 16 bits leads from an address into the file's memory, as from a page."""
        starts, ends = self._bounds
        place = bisect_right(starts, address + _REACH - 1) - 1
        return place >= 0 and address - _REACH < ends[place]

    def is_pointer(self, address: int) -> bool:
        """Whether the word at an address is an address that the loader or the linker fills in."""
        return address in self._slots or any(start <= address < end for start, end in self.tables)
