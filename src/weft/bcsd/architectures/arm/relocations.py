"""Relocations of ARM objects. Source: ELF for the Arm Architecture, §5.6."""

from __future__ import annotations

from weft.bcsd.architectures.relocation import Basis, Relocation, bits, signed_field, whole


def _put_thumb(word: int, value: int) -> int:
    """``bl`` and ``b.w`` in two halves: S:I1:I2:imm10:imm11, with J = ¬(I ⊕ S)."""
    sign = value >> 24 & 1
    first, second = (1 - (value >> 23 & 1)) ^ sign, (1 - (value >> 22 & 1)) ^ sign
    high = sign << 10 | value >> 12 & 0x3FF
    low = first << 13 | second << 11 | value >> 1 & 0x7FF
    return word & 0xF800D000 | high << 16 | low


def _take_thumb(word: int) -> int:
    sign = word >> 26 & 1
    first, second = 1 - (word >> 13 & 1 ^ sign), 1 - (word >> 11 & 1 ^ sign)
    joined = sign << 24 | first << 23 | second << 22 | (word >> 16 & 0x3FF) << 12 | (word & 0x7FF) << 1
    return signed_field(joined, 25)


def _put_half(word: int, value: int) -> int:
    return word & ~0xF0FFF | (value >> 12 & 0xF) << 16 | value & 0xFFF


def _put_thumb_half(word: int, value: int) -> int:
    spread = (value >> 12 & 0xF) << 16 | (value >> 11 & 1) << 26 | (value >> 8 & 7) << 12 | value & 0xFF
    return word & ~0x040F70FF | spread


def _take_half(word: int) -> int:
    return signed_field((word >> 16 & 0xF) << 12 | word & 0xFFF, 16)


def _take_thumb_half(word: int) -> int:
    joined = (word >> 16 & 0xF) << 12 | (word >> 26 & 1) << 11 | (word >> 12 & 7) << 8 | word & 0xFF
    return signed_field(joined, 16)


_CALL = bits(Basis.RELATIVE, 0xFFFFFF, 0, 2)
_THUMB_CALL = Relocation(Basis.RELATIVE, 4, _put_thumb, _take_thumb, halves=True)
ARM = {
    1: _CALL,
    2: whole(Basis.ABSOLUTE, 4),
    3: whole(Basis.RELATIVE, 4),
    10: _THUMB_CALL,
    28: _CALL,
    29: _CALL,
    30: _THUMB_CALL,
    43: Relocation(Basis.ABSOLUTE, 4, _put_half, _take_half),
    44: Relocation(Basis.ABSOLUTE, 4, lambda word, value: _put_half(word, value >> 16), _take_half),
    47: Relocation(Basis.ABSOLUTE, 4, _put_thumb_half, _take_thumb_half, halves=True),
    48: Relocation(
        Basis.ABSOLUTE,
        4,
        lambda word, value: _put_thumb_half(word, value >> 16),
        _take_thumb_half,
        halves=True,
    ),
}
