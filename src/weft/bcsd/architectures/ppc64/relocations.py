"""Relocations of PPC64 objects. Source: 64-bit ELF V2 ABI, §3.5.3."""

from __future__ import annotations

from weft.bcsd.architectures.relocation import Basis, bits, whole

_BRANCH = bits(Basis.RELATIVE, 0xFFFFFF, 2, 2)
PPC64 = {
    1: whole(Basis.ABSOLUTE, 4),
    10: _BRANCH,
    11: bits(Basis.RELATIVE, 0x3FFF, 2, 2),
    26: whole(Basis.RELATIVE, 4),
    38: whole(Basis.ABSOLUTE, 8),
    44: whole(Basis.RELATIVE, 8),
    116: _BRANCH,
}
