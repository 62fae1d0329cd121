"""Jump tables on PowerPC.

``cmplwi r9, last; bgt default; addis r10, r2, high; addi r10, r10, low; sldi r9, r9, 2; lwax r9, r10, r9;
add r9, r9, r10; mtctr r9; bctr``: an entry counts from the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.bcsd.architectures.linear import Bound, Definition, Speech, opaque
from weft.bcsd.architectures.operands import Raw, immediate, split_operands
from weft.bcsd.read.image import Image

_LOADS = {"lwa": (4, True), "lwz": (4, False), "ld": (8, False)}
_INDEXED = {"lwax": (4, True), "lwzx": (4, False), "ldx": (8, False)}
_SHIFTS = frozenset({"sldi", "slwi"})
_FRAME = "(r1)"


class PpcSpeech(Speech):
    """See the base class.

    Args:
        toc: What ``r2`` holds; None where the file does not tell.
    """

    def __init__(self, toc: int | None) -> None:
        self._toc = toc

    def defines(self, image: Image, instruction: Raw) -> Definition | None:
        """Loads, sums, shifts, the count register."""
        _, _, mnemonic, operands = instruction
        parts = split_operands(operands) if operands else [""]
        target, last = parts[0], immediate(parts[-1])
        if mnemonic in ("std", "stw") and parts[-1].endswith(_FRAME):
            return Definition(parts[-1], 0, ((1, target),))
        if mnemonic.startswith(("st", "b", "cmp", "nop")):
            return None
        if mnemonic == "mtctr":
            return Definition("ctr", 0, ((1, target),))
        if mnemonic in ("ld", "lwz") and parts[-1].endswith(_FRAME):
            return Definition(target, 0, ((1, parts[-1]),))
        if mnemonic in _LOADS and len(parts) == 2:
            offset, _, base = parts[1].rstrip(")").partition("(")
            return Definition(target, immediate(offset) or 0, ((1, base),), _LOADS[mnemonic])
        if mnemonic in _INDEXED and len(parts) == 3:
            return Definition(target, 0, ((1, parts[1]), (1, parts[2])), _INDEXED[mnemonic])
        if mnemonic in ("li", "lis") and last is not None:
            return Definition(target, last << (16 if mnemonic == "lis" else 0))
        if mnemonic in ("addi", "addis") and last is not None and len(parts) == 3:
            low = (last & 0xFFFF) - (1 << 16 if last & 0x8000 else 0)
            return Definition(target, low << (16 if mnemonic == "addis" else 0), ((1, parts[1]),))
        if mnemonic == "add" and len(parts) == 3:
            return Definition(target, 0, ((1, parts[1]), (1, parts[2])))
        if mnemonic == "mr":
            return Definition(target, 0, ((1, parts[1]),))
        if mnemonic in _SHIFTS and last is not None and last < 8:
            return Definition(target, 0, ((1 << last, parts[1]),))
        if (
            mnemonic in ("rldic", "rldicr", "rlwinm")
            and len(parts) >= 4
            and (immediate(parts[2]) or 0) in (2, 3)
        ):
            # The index in words, whatever is above it cut off.
            return Definition(target, 0, ((1 << (immediate(parts[2]) or 0), parts[1]),))
        return opaque(target)

    def bounds(
        self, instructions: Sequence[Raw], index: int, known: Callable[[str], int | None]
    ) -> Bound | None:
        """``cmplwi register, last`` and ``bgt`` or ``ble``."""
        _, _, mnemonic, operands = instructions[index]
        if mnemonic not in ("cmplwi", "cmpldi"):
            return None
        parts = split_operands(operands)
        last = immediate(parts[-1])
        if last is None:
            return None
        behind = [line[2] for line in instructions[index + 1 : index + 6] if line[2][0] == "b"]
        strict = bool(behind) and behind[0].startswith(("bge", "blt"))
        return Bound(parts[-2], last + (not strict))

    def entry(self, register: str, start: int) -> int | None:
        """``r2`` holds where the table of contents is."""
        return self._toc if register == "r2" else None

    def skips(self, definition: Definition) -> bool:
        """``r2`` is set up at the entry, and brought back behind calls."""
        return definition.register == "r2"
