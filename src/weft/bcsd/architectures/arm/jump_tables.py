"""Jump tables on ARM.

Thumb: ``cmp r3, #last; bhi default; tbb [pc, r3]`` with the table behind it, ``tbh [pc, r3, lsl #1]``, or
``adr r2, table; ldr.w pc, [r2, r3, lsl #2]``. A32: ``cmp r3, #last; ldrls pc, [pc, r3, lsl #2]``,
``addls pc, pc, r3, lsl #2`` in front of as many jumps, and clang's ``adr r1, table; ldr r0, [r1, r0, lsl #2];
add pc, r0, r1``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.jump_table import Table
from weft.bcsd.architectures.linear import Bound, Definition, Resolver, Speech, opaque
from weft.bcsd.architectures.operands import Raw, immediate, split_operands
from weft.bcsd.read.image import Image

_CONDITION = r"(eq|ne|hs|lo|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?(\.w|\.n)?$"
_CONDITIONS = re.compile(r"^(?:b|ldr|add|it|tb[bh])" + _CONDITION)
_LOADS = re.compile(r"^ldr(s?[bh]?)" + _CONDITION)
_SUMS = re.compile(r"^(?:adds?|addw|adr|mov|movs|movw|movt|lsls?|subs?|subw|mov\.w)" + _CONDITION)
_STORES = frozenset({"str", "str.w"})
_FRAME = re.compile(r"\[(sp|r7|fp|r11)(, #-?\w+)?\]$")
_NO_WRITE = ("st", "cm", "tst", "teq", "b", "push", "v", "it", "cb", "nop", "pld", "tb")
_BELOW = {"lo": 0, "cc": 0, "hs": 0, "cs": 0}


class ArmSpeech(Speech):
    """See the base class.

    Args:
        thumb: Whether the function is Thumb code.
    """

    def __init__(self, thumb: bool) -> None:
        self._ahead = 4 if thumb else 8

    def defines(self, image: Image, instruction: Raw) -> Definition | None:
        """Loads, sums, shifted registers, constants in halves."""
        address, _, mnemonic, operands = instruction
        if mnemonic in _STORES and _FRAME.search(operands):
            # A place in the frame is as good as a register.
            stored, _, place = operands.partition(", ")
            return Definition(place, 0, ((1, stored),))
        if mnemonic.startswith(_NO_WRITE):
            return None
        parts = split_operands(operands)
        target = parts[0]
        load = _LOADS.match(mnemonic)
        if load is not None and len(parts) == 2 and parts[1].endswith("]"):
            kind = load.group(1)
            if not kind and _FRAME.search(parts[1]):
                return Definition(target, 0, ((1, parts[1]),))
            size = {"b": 1, "h": 2}.get(kind[-1:], 4)
            return self._at(target, parts[1], address)._replace(load=(size, kind.startswith("s")))
        if _SUMS.match(mnemonic) is None:
            return opaque(target)
        return self._sum(mnemonic, parts, address) or opaque(target)

    def _sum(self, mnemonic: str, parts: list[str], address: int) -> Definition | None:
        target, last = parts[0], immediate(parts[-1])
        if mnemonic.startswith("adr") and last is not None:
            return Definition(target, (address + self._ahead & ~3) + last)
        if mnemonic.startswith("movt") and last is not None:
            return Definition(target, last << 16, ((1, target),))
        if mnemonic.startswith("mov"):
            if last is not None:
                return Definition(target, last)
            return self._joined(target, [parts[1]], address) if len(parts) == 2 else None
        if mnemonic.startswith("lsl"):
            return Definition(target, 0, ((1 << last, parts[-2]),)) if last is not None and last < 8 else None
        sources = parts[1:] if len(parts) > 2 else parts
        if sources[0] == "pc" and last is not None and len(sources) == 2:
            # A constant is added to the address of the word, as by ``adr``; a register to that of the instruction.
            return Definition(target, (address + self._ahead & ~3) + (-last if mnemonic[0] == "s" else last))
        if mnemonic.startswith("sub"):
            return Definition(target, -last, ((1, sources[0]),)) if last is not None else None
        return self._joined(target, sources, address)

    def _at(self, target: str, memory: str, address: int) -> Definition:
        sources = [part.strip() for part in memory.strip("[]").split(",")]
        joined = self._joined(target, sources, address & ~3 if sources[0] == "pc" else address)
        return joined or opaque(target)

    def _joined(self, target: str, sources: list[str], address: int) -> Definition | None:
        """The sum of registers and constants, the last register perhaps shifted."""
        constant, terms = 0, []
        for source in sources:
            number = immediate(source)
            if number is not None:
                constant += number
            elif source == "pc":
                constant += address + self._ahead
            elif source.startswith("lsl #"):
                amount = immediate(source.removeprefix("lsl "))
                if not terms or amount is None or amount > 7:
                    return None
                terms[-1] = (terms[-1][0] << amount, terms[-1][1])
            elif " " in source:
                return None
            else:
                terms.append((1, source))
        return Definition(target, constant, tuple(terms))

    def bounds(
        self, instructions: Sequence[Raw], index: int, known: Callable[[str], int | None]
    ) -> Bound | None:
        """``cmp register, #last``, and the condition behind it."""
        _, _, mnemonic, operands = instructions[index]
        if not mnemonic.startswith("cmp"):
            return None
        register, _, last = operands.partition(", ")
        value = immediate(last)
        if value is None:
            return None
        for _, _, following, _ in instructions[index + 1 : index + 4]:
            found = _CONDITIONS.match(following)
            if found is not None and found.group(1):
                return Bound(register, value + _BELOW.get(found.group(1), 1))
        return Bound(register, value + 1)


def find_table(
    image: Image,
    instructions: list[Raw],
    jump: int,
    backward: Backward,
    is_code: Callable[[int], bool],
    thumb: bool,
) -> Table | None:
    """See ``Architecture.find_table``."""
    address, size, mnemonic, operands = instructions[jump]
    speech = ArmSpeech(thumb)
    parts = split_operands(operands)
    if mnemonic.startswith(("tbb", "tbh")):
        register = parts[0].strip("[]").split(", ")[1] if ", " in parts[0] else ""
        wide = 2 if mnemonic.startswith("tbh") else 1
        if not parts[0].startswith("[pc,"):
            return None
        # Distances in halfwords, unsigned, from behind the jump.
        begin = address + size
        target = Definition("pc", begin, ((wide, register),), (wide, False), scale=2, anchor=begin)
        return Resolver(speech, image, instructions, backward).find(jump, target, is_code)
    if mnemonic.startswith("bx") or (mnemonic.startswith("mov") and len(parts) == 2):
        target = Definition("pc", 0, ((1, parts[-1]),))
    else:
        target = speech.defines(image, instructions[jump])
    if target is None:
        return None
    return Resolver(speech, image, instructions, backward).find(jump, target, is_code)
