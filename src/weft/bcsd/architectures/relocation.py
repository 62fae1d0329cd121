"""Relocations of object files: where in an instruction the address of a symbol goes.

An object's code names other places only by its relocations. Filled in, it reads like linked code, and everything
after it is the same for both.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

_PAGE = 0xFFF


class Basis(Enum):
    """What a relocation's value is, with S the symbol, A the addend, P the place, G the symbol's slot."""

    ABSOLUTE = "S + A"
    RELATIVE = "S + A − P"
    PAGE = "page(S + A) − page(P)"
    SLOT_RELATIVE = "G + A − P"
    SLOT_PAGE = "page(G) − page(P)"
    SLOT = "G"


class Relocation(NamedTuple):
    """One kind.

    Args:
        basis: What its value is.
        size: Bytes of the field.
        put: The field, the value → the field with the value in it.
        take: The field → the addend that stands in it, where the file's entries hold none.
        halves: Whether the field is two 16-bit units, the first one on top (Thumb).
        little: Whether the field is little-endian in big-endian files, too (instructions of AArch64).
    """

    basis: Basis
    size: int
    put: Callable[[int, int], int]
    take: Callable[[int], int] | None = None
    halves: bool = False
    little: bool = False

    @property
    def needs_slot(self) -> bool:
        """Whether the value is that of a pointer to the symbol."""
        return self.basis in (Basis.SLOT_RELATIVE, Basis.SLOT_PAGE, Basis.SLOT)

    def apply(
        self, field: bytes, symbol: int, addend: int | None, place: int, *, big_endian: bool
    ) -> bytes | None:
        """The field filled in; ``symbol`` is the address of its slot where :attr:`needs_slot`.

        Returns:
            None where the field is cut short.
        """
        if len(field) < self.size:
            return None
        big_endian = big_endian and not self.little
        order = "big" if big_endian else "little"
        unit = 2 if self.halves else self.size
        word = 0
        for at in range(0, self.size, unit):
            word = word << 8 * unit | int.from_bytes(field[at : at + unit], order)
        known = addend if addend is not None else self.take(word) if self.take else 0
        word = self.put(word, self._value(symbol, known, place)) & ((1 << 8 * self.size) - 1)
        raw = word.to_bytes(self.size, "big")
        parts = [raw[at : at + unit] for at in range(0, self.size, unit)]
        return b"".join(part if big_endian else part[::-1] for part in parts)

    def _value(self, symbol: int, addend: int, place: int) -> int:
        if self.basis is Basis.SLOT:
            return symbol
        if self.basis is Basis.SLOT_PAGE:
            return (symbol & ~_PAGE) - (place & ~_PAGE)
        if self.basis is Basis.PAGE:
            return (symbol + addend & ~_PAGE) - (place & ~_PAGE)
        return symbol + addend - (0 if self.basis is Basis.ABSOLUTE else place)


def signed_field(word: int, bits: int) -> int:
    """The low ``bits`` of a word as a signed number."""
    value = word & ((1 << bits) - 1)
    return value - (1 << bits) if value >> (bits - 1) else value


def whole(basis: Basis, size: int) -> Relocation:
    """A field that is nothing but the value."""
    return Relocation(basis, size, lambda _, value: value, lambda word: signed_field(word, 8 * size))


def bits(basis: Basis, mask: int, shift: int = 0, drop: int = 0) -> Relocation:
    """A 32-bit instruction that holds the value, less its low ``drop`` bits, under ``mask << shift``."""

    def put(word: int, value: int) -> int:
        return word & ~(mask << shift) | ((value >> drop) & mask) << shift

    def take(word: int) -> int:
        return signed_field(word >> shift & mask, mask.bit_length()) << drop

    return Relocation(basis, 4, put, take)
