"""AArch64."""

from __future__ import annotations

import capstone

from weft.bcsd.disassemble.isa.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind, immediate
from weft.bcsd.read.image import Image, unpack_words

_RETURNS = frozenset({"ret", "retaa", "retab", "eret", "drps"})
_INDIRECT_JUMPS = frozenset({"br", "braa", "brab", "braaz", "brabz"})
_INDIRECT_CALLS = frozenset({"blr", "blraa", "blrab", "blraaz", "blrabz"})
_COMPARE_BRANCHES = frozenset({"cbz", "cbnz", "tbz", "tbnz"})
_STOPS = frozenset({"udf", "brk", "hlt"})
_RETURN_WORDS = frozenset({0xD65F03C0, 0xD65F0BFF, 0xD65F0FFF})
_INDIRECT_JUMP_MASK, _INDIRECT_JUMP_WORD = 0xFFFFFC1F, 0xD61F0000


class Arm64(Architecture):
    """AArch64, always little-endian in code."""

    step = 4
    padding = frozenset({"nop", "udf"})

    def __init__(self, image: Image) -> None:
        super().__init__(image)
        self._decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)

    def decoder(self, address: int) -> capstone.Cs:
        """The same handle for every address."""
        return self._decoder

    def matters(self, mnemonic: str) -> bool:
        """Branches, calls, returns, stops."""
        return (
            mnemonic in ("b", "bl")
            or mnemonic.startswith("b.")
            or mnemonic in _RETURNS | _INDIRECT_JUMPS | _INDIRECT_CALLS | _COMPARE_BRANCHES | _STOPS
        )

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class."""
        if mnemonic == "bl":
            return Flow(FlowKind.CALL, immediate(operands))
        if mnemonic in ("b", "b.al", "b.nv"):
            return Flow(FlowKind.JUMP, immediate(operands))
        if mnemonic.startswith("b.") or mnemonic in _COMPARE_BRANCHES:
            return Flow(FlowKind.BRANCH, immediate(operands.rpartition(", ")[2]))
        if mnemonic in _RETURNS:
            return RETURN
        if mnemonic in _INDIRECT_JUMPS:
            return Flow(FlowKind.INDIRECT_JUMP)
        if mnemonic in _INDIRECT_CALLS:
            return Flow(FlowKind.INDIRECT_CALL)
        return STOP if mnemonic in _STOPS else NEXT

    def may_lack_return(self, code: bytes) -> bool:
        """No return and no indirect jump among the words."""
        words = unpack_words(code, 4, signed=False, big_endian=False)
        if not _RETURN_WORDS.isdisjoint(words):
            # The last word of a function that returns early but ends in a call is still worth a look.
            return bool(words) and words[-1] >> 26 == 0b100101
        return not any(word & _INDIRECT_JUMP_MASK == _INDIRECT_JUMP_WORD for word in words)
