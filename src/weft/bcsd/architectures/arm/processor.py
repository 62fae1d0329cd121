"""ARM in A32 and Thumb-2: functions, blocks and tokens; jump tables stay unresolved and are flagged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import capstone

from weft.bcsd.architectures.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind, Raw
from weft.bcsd.architectures.arm.relocations import ARM
from weft.bcsd.architectures.arm.stubs import arm_stubs
from weft.bcsd.architectures.operands import immediate
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
    lacks_unwinding = True
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

    def switches_mode(self, mnemonic: str) -> bool:
        """``blx`` with an address."""
        return mnemonic.startswith("blx")

    def is_entry(self, image: Image, code: bytes) -> bool:
        """``push`` of the link register, in either mode; or a store of it in front of the stack."""
        first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:4], "little")
        thumb = first & 0xFF00 == 0xB500 or (first == 0xE92D and second & 0x4000 != 0)
        return thumb or (second == 0xE92D and first & 0x4000 != 0) or (second == 0xE52D and first == 0xE004)

    def inline_table(self, image: Image, before: list[Raw]) -> tuple[int, int] | None:
        """``tbb [pc, r]``, ``tbh [pc, r, lsl #1]`` and ``ldrls pc, [pc, r, lsl #2]``, ``cmp r, #last`` in front."""
        address, size, mnemonic, operands = before[-1]
        last = next((operands for _, _, word, operands in before[-12:][::-1] if word.startswith("cmp")), "")
        count = (immediate(last.rpartition(", ")[2]) or 0) + 1
        if not operands.startswith(("[pc,", "pc, [pc,")) or not 1 < count <= 1024:
            return None
        if mnemonic in _TABLES:
            wide = 2 if mnemonic == "tbh" else 1
            begin = address + size
            entries = [image.integer(begin + wide * number, wide) or 0 for number in range(count)]
            return begin + (count * wide + 1 & ~1), begin + 2 * max(entries)
        if mnemonic.startswith("ldr"):
            begin = address + 8
            targets = [image.integer(begin + 4 * number, 4) or 0 for number in range(count)]
            near = [target for target in targets if begin <= target < begin + (1 << 16)]
            return (begin + 4 * count, max(near)) if near else None
        return None

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
