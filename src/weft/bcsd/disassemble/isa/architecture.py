"""What the native disassembler must know about an instruction set: decoding, flow, padding."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import IntEnum
from typing import NamedTuple

import capstone

from weft.bcsd.read.image import Image


class FlowKind(IntEnum):
    """What an instruction does to control."""

    NEXT = 0
    JUMP = 1
    BRANCH = 2
    CALL = 3
    INDIRECT_JUMP = 4
    INDIRECT_CALL = 5
    RETURN = 6
    RETURN_IF = 7
    STOP = 8


class Flow(NamedTuple):
    """The kind and, for direct transfers, the address."""

    kind: FlowKind
    target: int | None = None


NEXT = Flow(FlowKind.NEXT)
RETURN = Flow(FlowKind.RETURN)
STOP = Flow(FlowKind.STOP)

#: Kinds after which control never reaches the next instruction.
TERMINAL = frozenset({FlowKind.JUMP, FlowKind.INDIRECT_JUMP, FlowKind.RETURN, FlowKind.STOP})


class Plain(dict[str, bool]):
    """Remembers which mnemonics can be skipped without looking at their operands."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self._architecture = architecture

    def __missing__(self, mnemonic: str) -> bool:
        plain = not self._architecture.matters(mnemonic)
        self[mnemonic] = plain
        return plain


class Architecture(ABC):
    """One instruction set."""

    #: Bytes to skip after an undecodable one.
    step: int = 1
    #: Instructions executed after a jump before it takes effect (MIPS).
    delay: int = 0
    padding: frozenset[str] = frozenset({"nop"})

    def __init__(self, image: Image) -> None:
        self.plain = Plain(self)
        self.big_endian = image.big_endian

    @abstractmethod
    def decoder(self, address: int) -> capstone.Cs:
        """The capstone handle for code at ``address``."""

    @abstractmethod
    def matters(self, mnemonic: str) -> bool:
        """Whether :meth:`flow` or :meth:`data_address` may find anything in such an instruction."""

    @abstractmethod
    def flow(self, mnemonic: str, operands: str) -> Flow:
        """What the instruction does to control."""

    def is_padding(self, mnemonic: str, operands: str) -> bool:
        """Whether the instruction only fills space."""
        return mnemonic in self.padding

    def literals(self, instructions: list[tuple[int, int, str, str]]) -> set[int]:
        """Addresses among the instructions that hold constants instead."""
        return set()

    @abstractmethod
    def may_lack_return(self, code: bytes) -> bool:
        """A cheap look at the bytes: False only if a return, or a path to the end, is surely there."""


def immediate(text: str) -> int | None:
    """The number that an operand consists of (``0x1f``, ``#0x1f``, ``-4``), None if it is no number."""
    try:
        return int(text.lstrip("#"), 0)
    except ValueError:
        return None
