"""MIPS, 32 and 64 bits: functions, blocks, jump tables and tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import capstone

from weft.bcsd.architectures.architecture import (
    NEXT,
    NOWHERE,
    RETURN,
    STOP,
    Architecture,
    Called,
    Flow,
    FlowKind,
)
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.jump_table import Table
from weft.bcsd.architectures.linear import Definition, Resolver
from weft.bcsd.architectures.mips.jump_tables import MipsSpeech
from weft.bcsd.architectures.mips.relocations import MIPS
from weft.bcsd.architectures.operands import Raw, immediate, split_operands
from weft.bcsd.architectures.relocation import Relocation
from weft.bcsd.read.image import Image

_CALLS = frozenset({"jal", "bal", "bgezal", "bltzal", "jalx"})
_STOPS = frozenset({"break", "teq"})
#: Instructions before a call among which its address is loaded.
_CALL_LOOKED_BACK = 64


class Mips(Architecture):
    """MIPS32 in either byte order, with its branch delay slot."""

    machines: Mapping[str, str] = {"elf": "MIPS"}
    step = 4
    delay = 1
    lacks_unwinding = True
    global_pointer = 0x7FF0
    relocations: Mapping[int, Relocation] = MIPS

    def __init__(self, name: str, pointer_size: int) -> None:
        super().__init__()
        self.name = name
        self.pointer_size = pointer_size

    def decoder(self, image: Image, address: int) -> capstone.Cs:
        """MIPS32: release 6 changed encodings and is not told apart here."""
        return _decoder(self.pointer_size, image.big_endian)

    def matters(self, mnemonic: str) -> bool:
        """Branches, jumps, calls, traps."""
        return mnemonic[0] in "bj" or mnemonic in _STOPS

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class."""
        last = operands.rpartition(", ")[2]
        if mnemonic in _CALLS:
            return Flow(FlowKind.CALL, self.place(last))
        if mnemonic == "jalr":
            return Flow(FlowKind.INDIRECT_CALL)
        if mnemonic == "jr":
            return RETURN if operands == "$ra" else Flow(FlowKind.INDIRECT_JUMP)
        if mnemonic in ("b", "j"):
            return Flow(FlowKind.JUMP, self.place(last))
        if mnemonic == "break":
            return STOP
        if mnemonic[0] == "b" and mnemonic not in ("bitswap",):
            target = self.place(last)
            return NEXT if target is None else Flow(FlowKind.BRANCH, target)
        return NEXT

    def find_table(
        self,
        image: Image,
        instructions: list[Raw],
        jump: int,
        backward: Backward,
        is_code: Callable[[int], bool],
    ) -> Table | None:
        """See the base class."""
        target = Definition("", 0, ((1, instructions[jump][3]),))
        return Resolver(MipsSpeech(), image, instructions, backward).find(jump, target, is_code)

    def is_tail_call(self, instructions: list[Raw], jump: int, backward: Backward) -> bool:
        """``t9`` holds the address of what is called."""
        return instructions[jump][3] == "$t9"

    def called(self, image: Image, instructions: Sequence[Raw], index: int) -> Called:
        """``lw t9, offset(gp); …; jalr t9``, or with ``addiu t9, t9, low`` for a function of this file."""
        if image.global_pointer is None or instructions[index][3] != "$t9":
            return NOWHERE
        offset = 0
        for at in range(index - 1, max(index - _CALL_LOOKED_BACK, 0) - 1, -1):
            _, _, mnemonic, operands = instructions[at]
            if mnemonic == "jalr" or mnemonic in _CALLS:
                return NOWHERE
            if not operands.startswith("$t9, ") or mnemonic[0] in "sb":
                continue
            _, second, *_ = parts = split_operands(operands)
            if mnemonic in ("addiu", "daddiu") and second == "$t9":
                offset += immediate(parts[2]) or 0
                continue
            if mnemonic not in ("lw", "ld") or not second.endswith("($gp)"):
                return NOWHERE
            slot = image.global_pointer + (immediate(second.partition("(")[0]) or 0)
            name = None if offset else image.slots.get(slot)
            if name is not None and name not in image.exports:
                return Called(name)
            own = image.pointer(slot)
            own = None if own is None else own + offset
            return NOWHERE if own is None or image.code_map.at(own) is None else Called(None, own)
        return NOWHERE

    def is_entry(self, image: Image, code: bytes, mode: bool) -> bool:
        """``lui gp, high`` (position-independent code), or the stack pointer goes down."""
        word = int.from_bytes(code[:4], "big" if image.big_endian else "little")
        lowers = word >> 16 in (0x27BD, 0x67BD) and bool(word & 0x8000)
        return word >> 16 == 0x3C1C or lowers


@cache
def _decoder(pointer_size: int, big_endian: bool) -> capstone.Cs:
    order = capstone.CS_MODE_BIG_ENDIAN if big_endian else capstone.CS_MODE_LITTLE_ENDIAN
    return capstone.Cs(
        capstone.CS_ARCH_MIPS,
        (capstone.CS_MODE_MIPS64 if pointer_size == 8 else capstone.CS_MODE_MIPS32) | order,
    )


ARCHITECTURES = (Mips("mips", 4), Mips("mips64", 8))
