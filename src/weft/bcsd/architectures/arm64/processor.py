"""AArch64."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import capstone

from weft.bcsd.architectures.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind
from weft.bcsd.architectures.arm64.addresses import page_addresses
from weft.bcsd.architectures.arm64.exceptions import arm64_exceptions
from weft.bcsd.architectures.arm64.jump_tables import find_table
from weft.bcsd.architectures.arm64.operands import arm64_parts, arm64_span
from weft.bcsd.architectures.arm64.registers import register
from weft.bcsd.architectures.arm64.relocations import ARM64
from weft.bcsd.architectures.arm64.stubs import arm64_stubs
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.jump_table import Table, loaded_plainly
from weft.bcsd.architectures.operands import Parts, Raw, immediate
from weft.bcsd.architectures.relocation import Relocation
from weft.bcsd.read.image import Image, Region, UnwindRange, unpack_words

_RETURNS = frozenset({"ret", "retaa", "retab", "eret", "drps"})
_INDIRECT_JUMPS = frozenset({"br", "braa", "brab", "braaz", "brabz"})
_INDIRECT_CALLS = frozenset({"blr", "blraa", "blrab", "blraaz", "blrabz"})
#: ``bc`` is a branch with a hint that the condition is consistent.
_CONDITIONAL = ("b.", "bc.")
_COMPARE_BRANCHES = frozenset({"cbz", "cbnz", "tbz", "tbnz"})
_STOPS = frozenset({"udf", "brk", "hlt"})
_RETURN_WORDS = frozenset({0xD65F03C0, 0xD65F0BFF, 0xD65F0FFF})
_INDIRECT_JUMP_MASK, _INDIRECT_JUMP_WORD = 0xFFFFFC1F, 0xD61F0000
_REGISTERS, _LANES = re.compile(r"\b(?:[wxbhsdqv]\d+|[wx]zr|w?sp)\b"), re.compile(r"\.\d*[bhsdq]\b")


class Arm64(Architecture):
    """AArch64, always little-endian in code."""

    name = "aarch64"
    fini_size = 20
    pointer_size = 8
    machines: Mapping[str, str] = {"elf": "AARCH64", "pe": "ARM64", "macho": "ARM64"}
    step = 4
    exception_record = 8
    padding = frozenset({"nop", "udf"})
    builders = frozenset({"mov", "movk"})
    page_makers = frozenset({"adrp"})
    relocations: Mapping[int, Relocation] = ARM64

    def __init__(self) -> None:
        super().__init__()
        self._decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_LITTLE_ENDIAN)

    def decoder(self, image: Image, address: int) -> capstone.Cs:
        """The same handle for every address."""
        return self._decoder

    def matters(self, mnemonic: str) -> bool:
        """Branches, calls, returns, stops."""
        return (
            mnemonic in ("b", "bl")
            or mnemonic.startswith(_CONDITIONAL)
            or mnemonic in _RETURNS | _INDIRECT_JUMPS | _INDIRECT_CALLS | _COMPARE_BRANCHES | _STOPS
        )

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class."""
        if mnemonic == "bl":
            return Flow(FlowKind.CALL, self.place(operands))
        if mnemonic in ("b", "b.al", "b.nv", "bc.al", "bc.nv"):
            return Flow(FlowKind.JUMP, self.place(operands))
        if mnemonic.startswith(_CONDITIONAL) or mnemonic in _COMPARE_BRANCHES:
            return Flow(FlowKind.BRANCH, self.place(operands.rpartition(", ")[2]))
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

    def addresses(self, image: Image, instructions: list[Raw]) -> list[tuple[int, int]]:
        """See the base class."""
        return page_addresses(instructions)

    def find_table(
        self,
        image: Image,
        instructions: list[Raw],
        jump: int,
        backward: Backward,
        is_code: Callable[[int], bool],
    ) -> Table | None:
        """See the base class."""
        return find_table(image, instructions, jump, backward, is_code)

    def is_tail_call(self, instructions: list[Raw], jump: int, backward: Backward) -> bool:
        """See the base class."""
        return loaded_plainly(instructions, jump, backward, register, _is_indexed)

    def stubs(self, image: Image, region: Region) -> dict[int, str]:
        """See the base class."""
        return arm64_stubs(image, region)

    def exceptions(self, image: Image, table: bytes, base: int) -> list[UnwindRange]:
        """See the base class."""
        return arm64_exceptions(image, table, base)

    def spans(self, mnemonic: str, operands: str) -> int:
        """By the register that is loaded or stored."""
        return arm64_span(mnemonic, operands)

    def shape(self, operands: str) -> tuple[str, ...]:
        """The first letters of registers say how wide they are; of vectors, what they are cut into."""
        widths = ("x" if found == "sp" else found[0] for found in _REGISTERS.findall(operands))
        return *widths, *_LANES.findall(operands), *super().shape(operands)

    def take_apart(self, mnemonic: str, operands: str, address: str | None) -> Parts:
        """See the base class."""
        return arm64_parts(mnemonic, operands, address)

    def piece(self, mnemonic: str, operands: str, known: dict[str, int]) -> int | None:
        """``mov register, #low`` and ``movk register, #high, lsl #16``: the last piece has the whole value."""
        name, _, rest = operands.partition(", ")
        number, _, shift = rest.partition(", ")
        value = immediate(number)
        if value is None:
            return None
        width = 0xFFFFFFFF if name[0] == "w" else 0xFFFFFFFFFFFFFFFF
        if mnemonic == "movk":
            amount = immediate(shift.rpartition(" ")[2]) or 0 if shift else 0
            value = known.get(name, 0) & ~(0xFFFF << amount) | value << amount
        known[name] = whole = value & width
        return whole - width - 1 if whole > width >> 1 else whole


def _is_indexed(memory: str) -> bool:
    return ", " in memory and "#" not in memory


ARCHITECTURES = (Arm64(),)
