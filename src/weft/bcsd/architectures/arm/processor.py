"""ARM in A32 and Thumb-2: functions, blocks, jump tables and tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import capstone

from weft.bcsd.architectures.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind
from weft.bcsd.architectures.arm.jump_tables import find_table
from weft.bcsd.architectures.arm.relocations import ARM
from weft.bcsd.architectures.arm.stubs import arm_stubs
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.jump_table import Table
from weft.bcsd.architectures.operands import Raw, immediate
from weft.bcsd.architectures.relocation import Relocation
from weft.bcsd.read.image import Image, Region

_CONDITIONS = "eq|ne|hs|lo|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_BRANCH = re.compile(rf"^(bl|blx|bx|bxj|b)({_CONDITIONS})?(\.[wn])?$")
_WRITES_PC = re.compile(r"^(pop|ldm|ldr|mov|add|sub)")
_CONDITIONAL = re.compile(rf"({_CONDITIONS})(\.[wn])?$")
_TABLES = ("tbb", "tbh")
_FILLERS = frozenset(
    {("nop.w", ""), ("andeq", "r0, r0, r0"), ("movs", "r0, r0"), ("mov", "r0, r0"), ("mov", "r8, r8")}
)
_LITERAL = re.compile(r"\[pc, #(-?\w+)\]")
_ADDRESS = re.compile(r"(?:adr(?:\.w)? \w+|addw? \w+, pc), #(\w+)$")
#: Instructions before a jump among which its table and its count stand.
_NEAR = 12
_NOTHING = (0, 0, "", "")
_ALWAYS, _FEW_WORDS = 14, 8
_FROM_THUMB = b"\x78\x47"
_PLAIN, _VECTOR = 0xE0 >> 3, (0xF4, 0xF5)
_MOSTLY, _SELDOM = 0.6, 0.3
#: Words that tell a mode; how many of them at least are plain ones of A32 where it is A32 (or all of the first), and
#: at most where it is Thumb.
_WINDOW, _MANY, _FIRST, _FEW = 16, 7, 4, 3


class Arm(Architecture):
    """ARM; Thumb where a function symbol's lowest bit says so."""

    name = "arm"
    pointer_size = 4
    machines: Mapping[str, str] = {"elf": "ARM"}
    step = 2
    mode_bit = 1
    fini_size = 8
    lacks_unwinding = True
    pool_loads = ("ldr", "vldr")
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
        if (mnemonic[:3], rest) in (("mov", "lr"), ("add", "lr, #0")):
            return Flow(FlowKind.RETURN_IF) if conditional else RETURN
        # The stack pointer goes up by what the function took: four bytes, or in Go its whole frame.
        if mnemonic.startswith("ldr") and rest.startswith("[sp], #") and "-" not in rest:
            return Flow(FlowKind.RETURN_IF) if conditional else RETURN
        return Flow(FlowKind.INDIRECT_JUMP_IF if conditional else FlowKind.INDIRECT_JUMP)

    def literals(self, image: Image, start: int, instructions: list[Raw]) -> set[int]:
        """Addresses of words that ``ldr reg, [pc, #offset]`` reads, and of tables behind the jumps that read them."""
        found: set[int] = set()
        ahead, behind = 4 if start in image.thumb else 8, 0
        for index, (address, size, mnemonic, operands) in enumerate(instructions):
            if address < behind:
                # Of a table, and no instruction: it loads nothing.
                continue
            if mnemonic == "bx" or operands.startswith(("[pc, r", "pc, [")):
                behind = self.inline_table(image, instructions[max(0, index - _NEAR) : index + 1]) or 0
                table = address + 8 if operands.startswith("pc, [pc") else address + size
                found.update(range(table, behind, 2))
            if not mnemonic.startswith(("ldr", "vldr")):
                continue
            literal = _LITERAL.search(operands)
            if literal is not None:
                place = ((address + ahead) & ~3) + int(literal.group(1), 0)
                # Doubles and pairs of registers are two words.
                wide = 8 if mnemonic.startswith("ldrd") or (mnemonic[0] == "v" and operands[0] == "d") else 4
                found.update(range(place, place + wide, 2))
        return found

    def modes(self, image: Image, code: bytes) -> tuple[bool, ...]:
        """A32 where most words have the condition "always" in their highest bits, as few words of Thumb have."""
        highest = code[0 if image.big_endian else 3 :: 4]
        if len(highest) < _FEW_WORDS:
            return False, True
        share = sum(byte >> 4 == _ALWAYS for byte in highest) / len(highest)
        return (False,) if share >= _MOSTLY else (True,) if share <= _SELDOM else (False, True)

    def mode_here(self, image: Image, code: bytes) -> bool | None:
        """A32 where many words work on general registers, always, or are vector loads and stores.

        In Thumb such bits are a short jump's, and seldom: of 5,961 functions of glibc and libstdc++ none has more than
        five in its first sixteen words. Words of coprocessors are no sign: Thumb has the same half a word later.
        """
        highest = code[0 if image.big_endian else 3 : 4 * _WINDOW : 4]
        plain = [byte >> 3 == _PLAIN or byte in _VECTOR for byte in highest]
        if sum(plain) >= _MANY or (len(plain) >= _FIRST and all(plain[:_FIRST])):
            return False
        return True if sum(plain) <= _FEW and len(plain) == _WINDOW else None

    def switches_mode(self, mnemonic: str) -> bool:
        """``blx`` with an address."""
        return mnemonic.startswith("blx")

    def is_entry(self, image: Image, code: bytes, mode: bool) -> bool:
        """``push`` of the link register, in either mode; or a store of it in front of the stack."""
        order = "big" if image.big_endian else "little"
        first, second = int.from_bytes(code[:2], order), int.from_bytes(code[2:4], order)
        if mode:
            return first & 0xFF00 == 0xB500 or (first == 0xE92D and second & 0x4000 != 0)
        high, low = (first, second) if image.big_endian else (second, first)
        return (high == 0xE92D and low & 0x4000 != 0) or (high == 0xE52D and low & 0xF000 == 0xE000)

    def is_padding(self, mnemonic: str, operands: str) -> bool:
        """Besides ``nop``: zeros, and a register moved to itself."""
        return super().is_padding(mnemonic, operands) or (mnemonic, operands) in _FILLERS

    def returns(self, instructions: Sequence[Raw], index: int) -> bool:
        """Position-independent Thumb adds to the link register and jumps there: ``add lr, r3; bx lr``."""
        _, _, mnemonic, operands = instructions[index - 1] if index else _NOTHING
        jumps = instructions[index][2:] == ("bx", "lr")
        return not (jumps and mnemonic.startswith("add") and operands.startswith("lr, "))

    def inline_table(self, image: Image, before: list[Raw]) -> int | None:
        """``tbb`` and ``tbh`` from ``pc``, ``ldrls pc, [pc, r, lsl #2]``, what loads or adds behind an ``adr``.

        The comparison in front has the count.
        """
        address, size, mnemonic, operands = before[-1]
        near = before[-_NEAR:][::-1]
        last = next((operands for _, _, word, operands in near if word.startswith("cmp")), "")
        count = (immediate(last.rpartition(", ")[2]) or 0) + 1
        if not 1 < count <= 1024:
            return None
        added = mnemonic == "bx" and len(near) > 1 and near[1][2].startswith("add")
        if added or (operands.startswith("pc, [") and not operands.startswith("pc, [pc")):
            table = _behind(address + size, near)
            return None if table is None else table + 4 * count
        if not operands.startswith(("[pc,", "pc, [pc,")):
            return None
        if mnemonic.startswith(_TABLES):
            wide = 2 if mnemonic.startswith("tbh") else 1
            return address + size + (count * wide + 1 & ~1)
        # ``pc`` is two words ahead: in front of the table stands the jump for all other values.
        return address + 8 + 4 * count if mnemonic.startswith("ldr") else None

    def find_table(
        self,
        image: Image,
        instructions: list[Raw],
        jump: int,
        backward: Backward,
        is_code: Callable[[int], bool],
    ) -> Table | None:
        """See the base class."""
        thumb = instructions[0][0] in image.thumb
        return find_table(image, instructions, jump, backward, is_code, thumb)

    def stub_place(self, image: Image, start: int) -> tuple[int, int] | None:
        """Three words, behind ``bx pc`` and two more bytes where Thumb enters."""
        return start - 4 if image.code_at(start - 4, start - 2) == _FROM_THUMB else start, start + 12

    def stubs(self, image: Image, region: Region) -> dict[int, str]:
        """See the base class."""
        return arm_stubs(image, region)


def _behind(end: int, near: list[Raw]) -> int | None:
    """The table behind a jump whose address one of the instructions before it works out."""
    ahead = 4 if any(size == 2 for _, size, _, _ in near) else 8
    for address, _, mnemonic, operands in near:
        found = _ADDRESS.match(f"{mnemonic} {operands}")
        if found is not None:
            table = (address + ahead & ~3) + int(found.group(1), 0)
            return table if table in (end, end + 2) else None
    return None


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
