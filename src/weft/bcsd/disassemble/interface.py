"""What every disassembler hands over, and the one method it must have.

Disassemblers are interchangeable: the native one, angr, smda, and one that replays saved functions. All of
them give instructions as text in capstone's spelling, so that one normaliser serves all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

from weft.bcsd.architectures.operands import Raw
from weft.bcsd.read.image import Image


class EdgeKind(IntEnum):
    """How control gets from one block to another."""

    FALL_THROUGH = 0
    TAKEN = 1
    SWITCH = 2
    INDIRECT = 3


class ReferenceKind(IntEnum):
    """What the address in an operand points to."""

    JUMP = 0  # an instruction of this function
    CALL_INTERNAL = 1
    CALL_EXTERNAL = 2
    CALL_SELF = 3
    TAIL_INTERNAL = 4
    TAIL_EXTERNAL = 5
    CODE = 6  # the address of code, not a jump to it
    DATA_CONSTANT = 7
    DATA_WRITABLE = 8
    SLOT = 9  # a pointer that the loader fills
    UNMAPPED = 10  # relative to the instruction, but outside of the file


class Flag(StrEnum):
    """What a reader of a function should know about it."""

    CFG_INCOMPLETE = "cfg_incomplete"  # an indirect jump whose targets were not found
    UNDECODED = "undecoded"  # bytes inside that are no instruction
    MISALIGNED = "misaligned"  # a jump into the middle of an instruction
    FALLS_THROUGH = "falls_through"  # runs into whatever comes next
    THUNK = "thunk"  # nothing but a jump elsewhere
    PART = "part"  # a split-off piece: .cold, .part, a chained range
    NO_RETURN = "no_return"
    TRUNCATED = "truncated"  # longer than the limit; cut there
    DISCOVERED = "discovered"  # bounds from following calls, not from a table


class Instruction(NamedTuple):
    """One decoded instruction: the tuple that ``capstone.Cs.disasm_lite`` yields."""

    address: int
    size: int
    mnemonic: str
    operands: str


class Block(NamedTuple):
    """Instructions ``[start, end)`` of its function, by index."""

    start: int
    end: int


class Edge(NamedTuple):
    """From block ``source`` to block ``target``, by index."""

    source: int
    target: int
    kind: EdgeKind


class Reference(NamedTuple):
    """Where an operand points: ``target`` is an instruction index for ``JUMP``, an address otherwise."""

    kind: ReferenceKind
    target: int


@dataclass(slots=True)
class Function:
    """One function: instructions, blocks, typed edges, resolved references.

    Args:
        name: The symbol's name, or ``sub_<hex address>``.
        address: Of the first byte.
        size: In bytes.
        instructions: In address order; padding between blocks is left out.
        blocks: In address order; block 0 holds the entry.
        edges: Sorted and distinct.
        references: Instruction index → what its operand points to.
        flags: Sorted.
        aliases: Further names of the same address.
        imports: Names of imported functions it calls, sorted and distinct.
        digest: SHA-256 of the function's bytes, in hex.
        tables: Address of a jump through a table of known length → the address of each entry, in order; only the
            native disassembler tells them.
    """

    name: str
    address: int
    size: int
    instructions: list[Raw]
    blocks: list[Block]
    edges: list[Edge]
    references: dict[int, Reference] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()
    aliases: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    digest: str = ""
    tables: dict[int, tuple[int, ...]] = field(default_factory=dict, compare=False)

    @property
    def callees(self) -> list[int]:
        """Addresses of the functions of this file that it calls or tail-calls, sorted and distinct."""
        kinds = (ReferenceKind.CALL_INTERNAL, ReferenceKind.TAIL_INTERNAL, ReferenceKind.CALL_SELF)
        return sorted({r.target for r in self.references.values() if r.kind in kinds})


class Disassembler(ABC):
    """Turns an image into functions."""

    name: str

    @abstractmethod
    def functions(self, image: Image) -> Iterator[Function]:
        """Yield every function of ``image``, in address order, one at a time."""
