"""RISC-V, 64 bits: functions, blocks, jump tables and tokens."""

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
from weft.bcsd.architectures.operands import Raw, immediate
from weft.bcsd.architectures.relocation import Relocation
from weft.bcsd.architectures.riscv64.jump_tables import RiscvSpeech
from weft.bcsd.architectures.riscv64.relocations import RISCV, pair_distance
from weft.bcsd.read.image import Image, Region

_STOPS = frozenset({"ebreak", "c.ebreak", "unimp", "c.unimp"})
_JUMPS = frozenset({"j", "c.j"})
_CALLS = frozenset({"jal", "c.jal"})
_INDIRECT = frozenset({"jr", "c.jr"})
_INDIRECT_CALLS = frozenset({"jalr", "c.jalr"})
_BRANCHES = ("beq", "bne", "blt", "bge", "bgt", "ble", "c.beqz", "c.bnez")


class RiscV64(Architecture):
    """RV64GC: capstone prints a direct target as its distance from the instruction."""

    name = "riscv64"
    pointer_size = 8
    machines: Mapping[str, str] = {"elf": "RISCV"}
    step = 2
    padding = frozenset({"nop", "c.nop"})
    lacks_unwinding = True
    names_callees = True
    relocations: Mapping[int, Relocation] = RISCV

    def decoder(self, image: Image, address: int) -> capstone.Cs:
        """The same handle for every address."""
        return _decoder()

    def matters(self, mnemonic: str) -> bool:
        """Branches, jumps, calls, traps."""
        return mnemonic in _STOPS or mnemonic.removeprefix("c.")[:1] in ("b", "j", "r")

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class; targets are distances."""
        last = immediate(operands.rpartition(", ")[2])
        if mnemonic.startswith(_BRANCHES):
            return Flow(FlowKind.BRANCH, last)
        if mnemonic in _JUMPS:
            return Flow(FlowKind.JUMP, last)
        if mnemonic in _CALLS:
            # ``jal zero`` is a plain jump.
            return Flow(FlowKind.JUMP if operands.startswith("zero") else FlowKind.CALL, last)
        if mnemonic in ("ret", "c.ret"):
            return RETURN
        if mnemonic in _INDIRECT:
            return RETURN if operands == "ra" else Flow(FlowKind.INDIRECT_JUMP)
        if mnemonic in _INDIRECT_CALLS:
            return Flow(FlowKind.INDIRECT_JUMP if operands.startswith("zero, ") else FlowKind.INDIRECT_CALL)
        return STOP if mnemonic in _STOPS else NEXT

    def flow_at(self, address: int, mnemonic: str, operands: str) -> Flow:
        """See the base class."""
        kind, distance = self.flow(mnemonic, operands)
        return Flow(kind, None if distance is None else (address + distance) & ((1 << 64) - 1))

    def called(self, image: Image, instructions: Sequence[Raw], index: int) -> Called:
        """``auipc ra, page; jalr ra, offset(ra)``, with another register for a tail call, leads far."""
        address, size, _, _ = instructions[index]
        if not index or size != 4 or instructions[index - 1][:2] != (address - 4, 4):
            return NOWHERE
        distance = pair_distance(int.from_bytes(image.code_at(address - 4, address + 4), "little"))
        target = None if distance is None else (address - 4 + distance) & ((1 << 64) - 1)
        known = target is not None and (target in image.stubs or image.code_map.at(target) is not None)
        return Called(None, target) if known else NOWHERE

    def find_table(
        self,
        image: Image,
        instructions: list[Raw],
        jump: int,
        backward: Backward,
        is_code: Callable[[int], bool],
    ) -> Table | None:
        """See the base class."""
        register = instructions[jump][3].rpartition(", ")[2]
        target = Definition("", 0, ((1, register),))
        return Resolver(RiscvSpeech(), image, instructions, backward).find(jump, target, is_code)

    def addresses(self, image: Image, instructions: list[Raw]) -> list[tuple[int, int]]:
        """``auipc`` and the low part in the instructions after it."""
        found: list[tuple[int, int]] = []
        pages: dict[str, int] = {}
        for index, (address, _, mnemonic, operands) in enumerate(instructions):
            register, _, rest = operands.partition(", ")
            if mnemonic == "auipc":
                high = immediate(rest) or 0
                pages[register] = address + (high - (1 << 20) if high >= 1 << 19 else high) * 4096
                continue
            if not pages:
                continue
            base, low = "", None
            if mnemonic == "addi" and rest.count(", ") == 1:
                base, low = rest.split(", ")[0], immediate(rest.split(", ")[1])
            elif "(" in rest:
                offset, _, base = rest.rstrip(")").partition("(")
                low = immediate(offset) if offset else 0
            if base in pages and low is not None:
                found.append((index, pages[base] + low))
            if mnemonic[:2] not in ("sd", "sw", "sb", "sh", "fs"):
                pages.pop(register, None)
        return found

    def stubs(self, image: Image, region: Region) -> dict[int, str]:
        """``auipc t3, page; ld t3, offset(t3); jalr t1, t3; nop`` in entries of 16 bytes."""
        found: dict[int, str] = {}
        data = bytes(region.data)
        for at in range(0, len(data) - 15, 16):
            high = int.from_bytes(data[at : at + 4], "little")
            low = int.from_bytes(data[at + 4 : at + 8], "little")
            if high & 0xFFF != 0xE17 or low & 0xFFFFF != 0xE3E03 & 0xFFFFF:
                continue
            page = (high & 0xFFFFF000) - ((high >> 31) << 32)
            offset = (low >> 20) - ((low >> 31) << 12)
            name = image.slots.get(region.start + at + page + offset)
            if name is not None:
                found[region.start + at] = name
        return found

    def is_entry(self, image: Image, code: bytes, mode: bool) -> bool:
        """``addi sp, sp, -n``, whole or compressed."""
        half, word = int.from_bytes(code[:2], "little"), int.from_bytes(code[:4], "little")
        return half & 0xFF83 in (0x1101, 0x7101) or (word & 0xFFFFF == 0x10113 and word >> 31 == 1)


@cache
def _decoder() -> capstone.Cs:
    return capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC)


ARCHITECTURES = (RiscV64(),)
