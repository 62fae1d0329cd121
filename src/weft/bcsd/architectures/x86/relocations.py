"""Relocations of x86 objects. Source: System V ABI, supplements for AMD64 (§4.4) and i386 (§4.3)."""

from __future__ import annotations

from weft.bcsd.architectures.relocation import Basis, whole

_WORD_RELATIVE = whole(Basis.RELATIVE, 4)
_SLOT = whole(Basis.SLOT_RELATIVE, 4)
AMD64 = {
    1: whole(Basis.ABSOLUTE, 8),
    2: _WORD_RELATIVE,  # PC32
    4: _WORD_RELATIVE,  # PLT32
    9: _SLOT,  # GOTPCREL
    10: whole(Basis.ABSOLUTE, 4),
    11: whole(Basis.ABSOLUTE, 4),
    24: whole(Basis.RELATIVE, 8),
    41: _SLOT,  # GOTPCRELX
    42: _SLOT,  # REX_GOTPCRELX
}
I386 = {1: whole(Basis.ABSOLUTE, 4), 2: _WORD_RELATIVE, 4: _WORD_RELATIVE}
