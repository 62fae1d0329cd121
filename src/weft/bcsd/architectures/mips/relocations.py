"""Relocations of MIPS objects. Source: System V ABI, MIPS RISC processor supplement, table 4-11."""

from __future__ import annotations

from weft.bcsd.architectures.relocation import Basis, Relocation, bits, signed_field, whole


def _put_high(word: int, value: int) -> int:
    """The upper half, one more where the lower half will be read as negative."""
    return word & ~0xFFFF | (value + 0x8000) >> 16 & 0xFFFF


MIPS = {
    2: whole(Basis.ABSOLUTE, 4),
    4: bits(Basis.ABSOLUTE, 0x3FFFFFF, 0, 2),
    5: Relocation(Basis.ABSOLUTE, 4, _put_high, lambda word: signed_field(word, 16) << 16),
    6: bits(Basis.ABSOLUTE, 0xFFFF),
    10: bits(Basis.RELATIVE, 0xFFFF, 0, 2),
    18: whole(Basis.ABSOLUTE, 8),
}
