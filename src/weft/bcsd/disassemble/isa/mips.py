"""MIPS32: functions, blocks and tokens; jump tables stay unresolved and are flagged."""

from __future__ import annotations

import capstone

from weft.bcsd.disassemble.isa.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind, immediate
from weft.bcsd.read.image import Image

_CALLS = frozenset({"jal", "bal", "bgezal", "bltzal", "jalx"})
_STOPS = frozenset({"break", "teq"})
_LOOKED_AT = 256


class Mips(Architecture):
    """MIPS32 in either byte order, with its branch delay slot."""

    step = 4
    delay = 1

    def __init__(self, image: Image) -> None:
        super().__init__(image)
        order = capstone.CS_MODE_BIG_ENDIAN if image.big_endian else capstone.CS_MODE_LITTLE_ENDIAN
        self._decoder = capstone.Cs(capstone.CS_ARCH_MIPS, capstone.CS_MODE_MIPS32 | order)

    def decoder(self, address: int) -> capstone.Cs:
        """MIPS32: release 6 changed encodings and is not told apart here."""
        return self._decoder

    def matters(self, mnemonic: str) -> bool:
        """Branches, jumps, calls, traps."""
        return mnemonic[0] in "bj" or mnemonic in _STOPS

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class."""
        last = operands.rpartition(", ")[2]
        if mnemonic in _CALLS:
            return Flow(FlowKind.CALL, immediate(last))
        if mnemonic == "jalr":
            return Flow(FlowKind.INDIRECT_CALL)
        if mnemonic == "jr":
            return RETURN if operands == "$ra" else Flow(FlowKind.INDIRECT_JUMP)
        if mnemonic in ("b", "j"):
            return Flow(FlowKind.JUMP, immediate(last))
        if mnemonic == "break":
            return STOP
        if mnemonic[0] == "b" and mnemonic not in ("bitswap",):
            target = immediate(last)
            return NEXT if target is None else Flow(FlowKind.BRANCH, target)
        return NEXT

    def may_lack_return(self, code: bytes) -> bool:
        """Short functions are looked at in full."""
        return len(code) <= _LOOKED_AT
