"""Relocations of RISC-V objects, and the pair of instructions by which far places are called.

Source: RISC-V ELF psABI, "Relocations"; RISC-V unprivileged ISA, "Immediate Encoding Variants".
"""

from __future__ import annotations

from weft.bcsd.architectures.relocation import Basis, Relocation, signed_field, whole

_AUIPC, _JALR = 0x17, 0x67


def pair_distance(pair: int) -> int | None:
    """How far ``auipc r, high; jalr x, low(r)`` leads from its first byte; None of two other instructions."""
    high, low = pair & 0xFFFFFFFF, pair >> 32
    if high & 0x7F != _AUIPC or low & 0x707F != _JALR or high >> 7 & 31 != low >> 15 & 31:
        return None
    return signed_field(high & 0xFFFFF000, 32) + signed_field(low >> 20, 12)


def _put_pair(pair: int, value: int) -> int:
    """``auipc`` and what follows it: the lower 12 bits are signed, so that the upper ones are one more at times."""
    return pair & ~(0xFFF00000_FFFFF000) | (value & 0xFFF) << 52 | (value + 0x800) & 0xFFFFF000


def _put_jump(word: int, value: int) -> int:
    placed = (value >> 20 & 1) << 31 | (value >> 1 & 0x3FF) << 21 | (value >> 11 & 1) << 20
    return word & 0xFFF | placed | (value >> 12 & 0xFF) << 12


def _put_branch(word: int, value: int) -> int:
    upper = (value >> 12 & 1) << 31 | (value >> 5 & 0x3F) << 25
    return word & 0x01FFF07F | upper | (value >> 1 & 0xF) << 8 | (value >> 11 & 1) << 7


def _put_short_branch(word: int, value: int) -> int:
    upper = (value >> 8 & 1) << 12 | (value >> 3 & 3) << 10
    return word & 0xE383 | upper | (value >> 6 & 3) << 5 | (value >> 1 & 3) << 3 | (value >> 5 & 1) << 2


def _put_short_jump(word: int, value: int) -> int:
    upper = (value >> 11 & 1) << 12 | (value >> 4 & 1) << 11 | (value >> 8 & 3) << 9 | (value >> 10 & 1) << 8
    lower = (value >> 6 & 1) << 7 | (value >> 7 & 1) << 6 | (value >> 1 & 7) << 3 | (value >> 5 & 1) << 2
    return word & 0xE003 | upper | lower


_CALL = Relocation(Basis.RELATIVE, 8, _put_pair)
RISCV = {
    1: whole(Basis.ABSOLUTE, 4),
    2: whole(Basis.ABSOLUTE, 8),
    16: Relocation(Basis.RELATIVE, 4, _put_branch),
    17: Relocation(Basis.RELATIVE, 4, _put_jump),
    18: _CALL,
    19: _CALL,
    44: Relocation(Basis.RELATIVE, 2, _put_short_branch),
    45: Relocation(Basis.RELATIVE, 2, _put_short_jump),
}
