"""PowerPC, 64 bits: functions, blocks and tokens; jump tables stay unresolved and are flagged."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import capstone

from weft.bcsd.architectures.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind
from weft.bcsd.read.image import Image

_CALLS = frozenset({"bl", "bla", "bcl"})
_JUMPS = frozenset({"b", "ba"})
_STOPS = frozenset({"trap"})
_LOOKED_AT = 256


class Ppc64(Architecture):
    """PowerPC with the ELFv2 convention."""

    name = "ppc64"
    pointer_size = 8
    machines: Mapping[str, str] = {"elf": "PPC64"}
    step = 4
    padding = frozenset({"nop"})

    def decoder(self, image: Image, address: int) -> capstone.Cs:
        """One handle for each byte order."""
        return _decoder(image.big_endian)

    def matters(self, mnemonic: str) -> bool:
        """Branches, calls, traps."""
        return mnemonic[0] == "b" or mnemonic in _STOPS

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class."""
        word = mnemonic.rstrip("+-")
        target = self.place(operands.rpartition(", ")[2])
        if word in _CALLS:
            return Flow(FlowKind.CALL, target)
        if word in _JUMPS:
            return Flow(FlowKind.JUMP, target)
        if word == "blr":
            return RETURN
        if word == "bctr":
            return Flow(FlowKind.INDIRECT_JUMP)
        if word in ("bctrl", "blrl"):
            return Flow(FlowKind.INDIRECT_CALL)
        if word in _STOPS:
            return STOP
        if word[0] == "b" and word.endswith("lr"):
            return Flow(FlowKind.RETURN_IF)
        return NEXT if target is None or word.startswith("bp") else Flow(FlowKind.BRANCH, target)

    def may_lack_return(self, code: bytes) -> bool:
        """Short functions are looked at in full."""
        return len(code) <= _LOOKED_AT

    def entry_of(self, image: Image, target: int) -> int:
        """Calls within a file go behind the two instructions that set up the table of contents."""
        head = image.read(target - 8, 8)
        order = "big" if image.big_endian else "little"
        first, second = int.from_bytes(head[:4], order), int.from_bytes(head[4:], order)
        sets_up = first >> 16 in (0x3C4C, 0x3C40) and second >> 16 == 0x3842
        return target - 8 if sets_up else target

    def is_entry(self, image: Image, code: bytes) -> bool:
        """``addis r2, r12, x`` (the table of contents), ``mflr r0``, ``stdu r1``, ``std r, -n(r1)``."""
        word = int.from_bytes(code[:4], "big" if image.big_endian else "little")
        toc = word >> 16 == 0x3C4C
        return toc or word == 0x7C0802A6 or word & 0xFFFF0003 == 0xF8210001


@cache
def _decoder(big_endian: bool) -> capstone.Cs:
    order = capstone.CS_MODE_BIG_ENDIAN if big_endian else capstone.CS_MODE_LITTLE_ENDIAN
    return capstone.Cs(capstone.CS_ARCH_PPC, capstone.CS_MODE_64 | order)


ARCHITECTURES = (Ppc64(),)
