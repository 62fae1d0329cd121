"""Jump tables on RISC-V.

``li a5, last; bltu a5, a0, default; auipc a5, page; addi a5, a5, low; slli a0, a0, 2; add a0, a0, a5; lw a0, 0(a0);
add a0, a0, a5; jr a0``: an entry counts from the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from weft.bcsd.architectures.linear import Bound, Definition, Speech, opaque
from weft.bcsd.architectures.operands import Raw, immediate, split_operands
from weft.bcsd.read.image import Image

_LOADS = {"lw": (4, True), "lwu": (4, False), "ld": (8, False), "lh": (2, True), "lhu": (2, False)}
#: ``s0`` is a frame pointer, below which the frame lies, or a register as any other.
_FRAME = re.compile(r"^(?:\w+\(sp\)|-\w+\(s0\))$")


class RiscvSpeech(Speech):
    """See the base class."""

    def defines(self, image: Image, instruction: Raw) -> Definition | None:
        """Loads, sums, shifts, pages; compressed or not."""
        address, _, mnemonic, operands = instruction
        word = mnemonic.removeprefix("c.").removesuffix("sp")
        parts = split_operands(operands) if operands else [""]
        target, last = parts[0], immediate(parts[-1])
        if word in ("sd", "sw") and _FRAME.match(parts[-1]):
            return Definition(parts[-1], 0, ((1, target),))
        if word in ("sd", "sw", "sb", "sh", "nop", "fence") or word[0] in "bj" or word.startswith("fs"):
            return None
        if word in ("ld", "lw") and _FRAME.match(parts[-1]):
            return Definition(target, 0, ((1, parts[-1]),))
        if word in _LOADS and len(parts) == 2:
            offset, _, base = parts[1].rstrip(")").partition("(")
            return Definition(target, immediate(offset) or 0, ((1, base),), _LOADS[word])
        if word in ("auipc", "lui") and last is not None:
            high = last - (1 << 20) if last >= 1 << 19 else last
            return Definition(target, (high << 12) + (address if word == "auipc" else 0))
        if word == "li" and last is not None:
            return Definition(target, last)
        sources = parts[1:] if len(parts) > 2 else parts
        if word in ("addi", "addiw") and last is not None:
            return Definition(target, last, ((1, sources[0]),))
        if word == "add":
            return Definition(target, 0, ((1, sources[0]), (1, sources[1])))
        if word in ("mv", "sext.w", "zext.w", "andi") and len(parts) == 2:
            return Definition(target, 0, ((1, parts[1]),))
        if word == "slli" and last is not None and last < 8:
            return Definition(target, 0, ((1 << last, sources[0]),))
        if word in ("sh2add", "sh3add"):
            return Definition(target, 0, ((1 << int(word[2]), parts[1]), (1, parts[2])))
        return self._narrowed(instruction, parts) or opaque(target)

    def _narrowed(self, instruction: Raw, parts: list[str]) -> Definition | None:
        """The second of ``slli a0, a0, 32; srli a0, a0, 30``: an index without its upper half, in words."""
        last = immediate(parts[-1])
        if instruction[2].removeprefix("c.") != "srli" or last not in (29, 30, 32):
            return None
        return Definition(parts[0], 0, ((1 << (32 - last), f"{parts[-2]}<<32"),))

    def bounds(
        self, instructions: Sequence[Raw], index: int, known: Callable[[str], int | None]
    ) -> Bound | None:
        """``bltu last, register`` with ``last`` constant, ``bgeu register, count``, ``sltiu flag, register, count``."""
        _, _, mnemonic, operands = instructions[index]
        parts = split_operands(operands) if operands else []
        if mnemonic == "sltiu":
            count = immediate(parts[-1])
            return None if count is None else Bound(parts[1], count)
        if mnemonic not in ("bltu", "bgeu") or len(parts) != 3:
            return None
        for position, register, other in ((0, parts[0], parts[1]), (1, parts[1], parts[0])):
            number = known(register)
            if number is not None:
                # bltu last, index leaves; bgeu last, index stays; bltu index, count stays; bgeu index, count leaves.
                return Bound(other, number + 1 if position == 0 else number)
        return None

    def entry(self, register: str, start: int) -> int | None:
        """The zero register holds nothing."""
        return 0 if register == "zero" else None
