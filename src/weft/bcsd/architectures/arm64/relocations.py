"""Relocations of AArch64 objects. Source: ELF for the Arm 64-bit Architecture, §5.7."""

from __future__ import annotations

from weft.bcsd.architectures.relocation import Basis, Relocation, bits, whole


def _address(word: int, value: int) -> int:
    """``adr`` and ``adrp``: the two lowest bits stand apart."""
    return word & ~0x60FFFFE0 | (value & 3) << 29 | (value >> 2 & 0x7FFFF) << 5


def _page(word: int, value: int) -> int:
    return _address(word, value >> 12)


def _low(scale: int, basis: Basis = Basis.ABSOLUTE) -> Relocation:
    """The place in the page, in units of the access."""

    def put(word: int, value: int) -> int:
        return word & ~(0xFFF << 10) | ((value & 0xFFF) >> scale) << 10

    return Relocation(basis, 4, put)


_CALL = bits(Basis.RELATIVE, 0x3FFFFFF, 0, 2)
_DATA = {
    257: whole(Basis.ABSOLUTE, 8),
    258: whole(Basis.ABSOLUTE, 4),
    260: whole(Basis.RELATIVE, 8),
    261: whole(Basis.RELATIVE, 4),
}
_CODE = {
    274: Relocation(Basis.RELATIVE, 4, _address),
    275: Relocation(Basis.PAGE, 4, _page),
    276: Relocation(Basis.PAGE, 4, _page),
    277: _low(0),
    278: _low(0),
    279: bits(Basis.RELATIVE, 0x3FFF, 5, 2),
    280: bits(Basis.RELATIVE, 0x7FFFF, 5, 2),
    282: _CALL,
    283: _CALL,
    284: _low(1),
    285: _low(2),
    286: _low(3),
    299: _low(4),
    311: Relocation(Basis.SLOT_PAGE, 4, _page),
    312: _low(3, Basis.SLOT),
}
# Data is in the order of the file, code is little-endian always.
ARM64 = _DATA | {number: kind._replace(little=True) for number, kind in _CODE.items()}
