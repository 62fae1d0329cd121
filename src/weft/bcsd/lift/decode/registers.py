"""Registers as SLEIGH lays them out, as families: a register and its parts are one variable."""

from __future__ import annotations

from typing import Any

from weft.bcsd.lift.decode.processors import Processor


class Families:
    """Which variable a stretch of register bytes belongs to.

    A write to the lowest part of a family replaces the whole variable: what is above is zero or of no interest.
    Higher lanes of vector registers are variables of their own.

    Args:
        registers: Name → varnode, as ``pypcode.Context.registers``.
        processor: Whose.
    """

    def __init__(self, registers: dict[str, Any], processor: Processor) -> None:
        self.processor = processor
        widest = max(processor.word, processor.vector, 8 if processor.word == 8 else 0)
        places = sorted({(v.offset, v.size) for v in registers.values()}, key=lambda p: (-p[1], p[0]))
        self._base: dict[int, tuple[int, int]] = {}
        for offset, size in places:
            if size <= widest and not any(byte in self._base for byte in range(offset, offset + size)):
                for byte in range(offset, offset + size):
                    self._base[byte] = (offset, size)
        self._names = {name: (v.offset, v.size) for name, v in registers.items()}

    def locate(self, offset: int, size: int) -> tuple[int, int]:
        """The family of a stretch, by its first byte, and how many of the family's low bytes lie below it."""
        base, width = self._base.get(offset, (offset, size))
        below = base + width - offset - size if self.processor.big_endian else offset - base
        if below < 0:
            # Wider than a family: the family of its lowest part stands for it.
            last = offset + size - 1
            return (self._base.get(last, (last, 1))[0], 0) if self.processor.big_endian else (base, 0)
        if below and width > self.processor.word:
            return offset, 0
        return base, below

    def named(self, name: str) -> int | None:
        """The family of a register by name; None where the language has none of that name."""
        place = self._names.get(name)
        return None if place is None else self.locate(*place)[0]
