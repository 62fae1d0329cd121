"""ARM in A32 and Thumb-2: functions, blocks and tokens; jump tables stay unresolved and are flagged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import capstone

from weft.bcsd.architectures.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind, Raw
from weft.bcsd.architectures.arm.relocations import ARM
from weft.bcsd.architectures.arm.stubs import arm_stubs
from weft.bcsd.architectures.relocation import Relocation
from weft.bcsd.read.image import Image, Region

_CONDITIONS = "eq|ne|hs|lo|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_BRANCH = re.compile(rf"^(bl|blx|bx|bxj|b)({_CONDITIONS})?(\.[wn])?$")
_WRITES_PC = re.compile(r"^(pop|ldm|ldr|mov|add|sub)")
_CONDITIONAL = re.compile(rf"({_CONDITIONS})(\.[wn])?$")
_TABLES = ("tbb", "tbh")
_LOOKED_AT = 256
_LITERAL = re.compile(r"\[pc, #(-?\w+)\]")


class Arm(Architecture):
    """ARM; Thumb where a function symbol's lowest bit says so."""

    name = "arm"
    pointer_size = 4
    machines: Mapping[str, str] = {"elf": "ARM"}
    step = 2
    mode_bit = 1
    relocations: Mapping[int, Relocation] = ARM

    def decoder(self, image: Image, address: int) -> capstone.Cs:
        """Thumb for functions known as such."""
        return _decoder(address in image.thumb, image.big_endian)

    def matters(self, mnemonic: str) -> bool:
        """Branches, and whatever may write the program counter."""
        return (
            bool(_BRANCH.match(mnemonic) or _WRITES_PC.match(mnemonic))
            or mnemonic in ("cbz", "cbnz", "udf", "bkpt")
            or mnemonic in _TABLES
        )

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class."""
        branch = _BRANCH.match(mnemonic)
        if branch is not None:
            return _branch_flow(branch.group(1), branch.group(2) is not None, operands, self.place(operands))
        if mnemonic in ("cbz", "cbnz"):
            return Flow(FlowKind.BRANCH, self.place(operands.rpartition(", ")[2]))
        if mnemonic in ("udf", "bkpt"):
            return STOP
        if mnemonic in _TABLES:
            return Flow(FlowKind.INDIRECT_JUMP)
        if not _WRITES_PC.match(mnemonic):
            return NEXT
        conditional = bool(_CONDITIONAL.search(mnemonic))
        if mnemonic.startswith(("pop", "ldm")):
            if "pc" not in operands:
                return NEXT
            return Flow(FlowKind.RETURN_IF) if conditional else RETURN
        destination, _, rest = operands.partition(", ")
        if destination != "pc":
            return NEXT
        if mnemonic.startswith("mov") and rest == "lr":
            return Flow(FlowKind.RETURN_IF) if conditional else RETURN
        if mnemonic.startswith("ldr") and rest.startswith("[sp], #4"):
            return Flow(FlowKind.RETURN_IF) if conditional else RETURN
        return Flow(FlowKind.INDIRECT_JUMP)

    def may_lack_return(self, code: bytes) -> bool:
        """Short functions are looked at in full."""
        return len(code) <= _LOOKED_AT

    def literals(self, image: Image, start: int, instructions: list[Raw]) -> set[int]:
        """Addresses of the words that ``ldr reg, [pc, #offset]`` reads: constants among the code."""
        found: set[int] = set()
        ahead = 4 if start in image.thumb else 8
        for address, _, mnemonic, operands in instructions:
            if not mnemonic.startswith(("ldr", "vldr")):
                continue
            literal = _LITERAL.search(operands)
            if literal is not None:
                place = ((address + ahead) & ~3) + int(literal.group(1), 0)
                found.update((place, place + 2))
        return found

    def stubs(self, image: Image, region: Region) -> dict[int, str]:
        """See the base class."""
        return arm_stubs(image, region)


@cache
def _decoder(thumb: bool, big_endian: bool) -> capstone.Cs:
    order = capstone.CS_MODE_BIG_ENDIAN if big_endian else capstone.CS_MODE_LITTLE_ENDIAN
    mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_V8 if thumb else capstone.CS_MODE_ARM
    return capstone.Cs(capstone.CS_ARCH_ARM, mode | order)


def _branch_flow(stem: str, conditional: bool, operands: str, target: int | None) -> Flow:
    if stem in ("bl", "blx"):
        return Flow(FlowKind.INDIRECT_CALL) if target is None else Flow(FlowKind.CALL, target)
    if stem in ("bx", "bxj"):
        if operands == "lr":
            return Flow(FlowKind.RETURN_IF) if conditional else RETURN
        return Flow(FlowKind.INDIRECT_JUMP)
    return Flow(FlowKind.BRANCH if conditional else FlowKind.JUMP, target)


ARCHITECTURES = (Arm(),)
