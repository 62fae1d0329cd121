"""Jump tables on MIPS.

``sltiu v0, a0, count; beqz v0, default; sll a0, a0, 2; lw v1, %got(table)(gp); addiu v1, v1, %lo(table);
addu a0, a0, v1; lw v0, (a0); addu v0, v0, gp; jr v0``: an entry counts from ``gp``, which the function computes from
``t9``. Without position-independent code, ``lui`` and ``addiu`` make the table's address, and entries are addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.bcsd.architectures.linear import Bound, Definition, Speech, opaque
from weft.bcsd.architectures.operands import Raw, immediate, split_operands
from weft.bcsd.read.image import Image

_LOADS = {"lw": (4, True), "lwu": (4, False), "ld": (8, False), "lh": (2, True), "lhu": (2, False)}
_INDEXED = {"lwx": (4, True), "ldx": (8, False)}
_SUMS = frozenset({"addiu", "daddiu", "addu", "daddu", "addi"})
_SHIFTS = frozenset({"sll", "dsll"})
_FRAME = ("($sp)", "($fp)")
_NO_WRITE = ("s", "b", "j", "nop", "t", "mt", "c.", "cache", "pref", "mult", "div")
_WRITES = ("sll", "srl", "sra", "slt", "sub", "seb", "seh")


class MipsSpeech(Speech):
    """See the base class."""

    def defines(self, image: Image, instruction: Raw) -> Definition | None:
        """Loads, sums, shifts, high halves."""
        _, _, mnemonic, operands = instruction
        if mnemonic in ("sw", "sd") and operands.endswith(_FRAME):
            # A place in the frame is as good as a register.
            stored, _, place = operands.partition(", ")
            return Definition(place, 0, ((1, stored),))
        if mnemonic.startswith(_NO_WRITE) and not mnemonic.startswith(_WRITES):
            return None
        parts = split_operands(operands)
        target, last = parts[0], immediate(parts[-1])
        if mnemonic in ("lw", "ld") and parts[-1].endswith(_FRAME):
            return Definition(target, 0, ((1, parts[-1]),))
        if mnemonic in _LOADS and len(parts) == 2:
            offset, _, base = parts[1].rstrip(")").partition("(")
            return Definition(target, immediate(offset) or 0, ((1, base),), _LOADS[mnemonic])
        if mnemonic in _INDEXED and len(parts) == 2:
            index, _, base = parts[1].rstrip(")").partition("(")
            return Definition(target, 0, ((1, index), (1, base)), _INDEXED[mnemonic])
        if mnemonic == "lui" and last is not None:
            high = last & 0xFFFF
            return Definition(target, (high - (1 << 16) if high & 0x8000 else high) << 16)
        if mnemonic in _SUMS and len(parts) == 3:
            if last is not None:
                return Definition(target, last, ((1, parts[1]),))
            return Definition(target, 0, ((1, parts[1]), (1, parts[2])))
        if mnemonic == "move":
            return Definition(target, 0, ((1, parts[1]),))
        if mnemonic in _SHIFTS and last is not None and last < 8:
            return Definition(target, 0, ((1 << last, parts[1]),))
        return opaque(target)

    def bounds(
        self, instructions: Sequence[Raw], index: int, known: Callable[[str], int | None]
    ) -> Bound | None:
        """``sltiu flag, register, count``."""
        _, _, mnemonic, operands = instructions[index]
        if mnemonic not in ("sltiu", "sltu"):
            return None
        parts = split_operands(operands)
        count = immediate(parts[-1])
        return None if count is None else Bound(parts[1], count)

    def entry(self, register: str, start: int) -> int | None:
        """``t9`` holds where the function begins; the zero register holds nothing."""
        return {"$t9": start, "$zero": 0}.get(register)

    def skips(self, definition: Definition) -> bool:
        """``gp`` is brought back from the stack behind calls."""
        terms = definition.terms
        return definition.register == "$gp" and len(terms) == 1 and terms[0][1].endswith(_FRAME)
