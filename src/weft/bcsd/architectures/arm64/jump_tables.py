"""Jump tables on AArch64: from ``br`` back to the table, its bound and its entries.

gcc: ``adrp+add table; ldrb w1, [table, w0, uxtw]; adr x0, anchor; add x0, x0, w1, sxtb #2; br x0``.
clang: ``adrp+add table; adr x10, anchor; ldrb w11, [table, x8]; add x10, x10, x11, lsl #2; br x10``, or with
``ldrsw`` and offsets from the table itself. An entry is the signed or unsigned distance from the anchor,
divided by 4 where it holds one or two bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.bcsd.architectures.arm64.registers import register
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.index_bound import Step, StepKind, index_bound
from weft.bcsd.architectures.jump_table import UNBOUNDED_ENTRIES, Table
from weft.bcsd.architectures.operands import Raw, immediate, split_operands
from weft.bcsd.read.image import Image

_LOADS = {
    "ldrb": (1, False),
    "ldrsb": (1, True),
    "ldrh": (2, False),
    "ldrsh": (2, True),
    "ldr": (4, False),
    "ldrsw": (4, True),
}
_ABOVE = {"b.hi": 1, "b.ls": 1, "b.hs": 0, "b.lo": 0}
_COPIES = frozenset({"mov", "uxtb", "uxth", "uxtw", "sxtw", "sxtb", "sxth"})
_STORES = ("st", "cmp", "cmn", "tst", "cb", "tb", "b", "ret", "nop")


def find_table(
    image: Image, instructions: list[Raw], jump: int, backward: Backward, is_code: Callable[[int], bool]
) -> Table | None:
    """See ``Architecture.find_table``."""
    return _Search(image, instructions, backward, is_code).from_jump(jump)


def step(instruction: Raw) -> Step:
    """What an instruction says about a table's index."""
    _, _, mnemonic, operands = instruction
    if mnemonic in _ABOVE:
        return Step(StepKind.ABOVE, value=_ABOVE[mnemonic])
    parts = split_operands(operands)
    target = register(parts[0]) or parts[0]
    last = immediate(parts[-1])
    source = (register(parts[1]) or parts[1]) if len(parts) > 1 else ""
    if mnemonic == "cmp" and last is not None:
        return Step(StepKind.COMPARE, target, value=last)
    if mnemonic == "subs" and last is not None:
        # clang at -O0 compares by subtracting, after it has stored the index away.
        return Step(StepKind.COMPARE, source, value=last)
    if mnemonic in ("and", "ands") and last is not None and len(parts) == 3:
        return Step(StepKind.MASK, target, value=last)
    if mnemonic.startswith("st") and len(parts) == 2:
        return Step(StepKind.COPY, source, target)
    if (mnemonic in _COPIES or mnemonic.startswith("ld")) and len(parts) == 2 and last is None:
        return Step(StepKind.COPY, target, source)
    if mnemonic.startswith(_STORES):
        return Step(StepKind.OTHER)
    return Step(StepKind.OTHER, target)


@dataclass
class _Search:
    image: Image
    instructions: list[Raw]
    backward: Backward
    is_code: Callable[[int], bool]

    def from_jump(self, jump: int) -> Table | None:
        target = register(self.instructions[jump][3])
        for index in self.backward.walk(jump, 16):
            _, _, mnemonic, operands = self.instructions[index]
            parts = split_operands(operands)
            if register(parts[0]) != target or mnemonic.startswith(_STORES):
                continue
            if mnemonic == "add" and len(parts) >= 3:
                return self._from_sum(index, parts)
            if mnemonic == "ldr" and "[" in parts[1]:
                return self._pointers(index, parts[1])
            if mnemonic == "mov" and register(parts[1]) is not None:
                target = register(parts[1])
                continue
            return None
        return None

    def _from_sum(self, index: int, parts: list[str]) -> Table | None:
        """``add target, anchor, offset[, extend]``: either addend may be the anchor where none is extended."""
        modifier = parts[3] if len(parts) > 3 else ""
        first, second = register(parts[1]), register(parts[2])
        if first is None or second is None:
            return None
        pairs = [(first, second)] if modifier else [(first, second), (second, first)]
        for anchor_register, offset_register in pairs:
            loaded = self._load_of(offset_register, index)
            if loaded is None:
                continue
            load, size, signed, memory = loaded
            anchor = self._address_in(anchor_register, index)
            if anchor is None:
                continue
            kind, _, amount = modifier.partition(" ")
            shift = immediate(amount) or 0 if amount else 0
            if kind in ("sxtb", "sxth", "sxtw"):
                signed = True
            elif kind in ("uxtb", "uxth", "uxtw"):
                signed = False
            return self._read_offsets(load, memory, size, signed, anchor, shift)
        return None

    def _load_of(self, wanted: str, before: int) -> tuple[int, int, bool, str] | None:
        for index in self.backward.walk(before, 16):
            _, _, mnemonic, operands = self.instructions[index]
            parts = split_operands(operands)
            if register(parts[0]) != wanted or mnemonic.startswith(_STORES):
                continue
            if mnemonic in _LOADS and len(parts) == 2 and "[" in parts[1]:
                size, signed = _LOADS[mnemonic]
                return index, size, signed, parts[1]
            if mnemonic in _COPIES and register(parts[1]) is not None:
                wanted = register(parts[1]) or wanted
                continue
            return None
        return None

    def _read_offsets(
        self, load: int, memory: str, size: int, signed: bool, anchor: int, shift: int
    ) -> Table | None:
        inner = [part.strip() for part in memory.strip("[]!").split(",")]
        base_register = register(inner[0])
        index_register = register(inner[1]) if len(inner) > 1 else None
        if base_register is None or index_register is None:
            return None
        base = self._address_in(base_register, load)
        if base is None:
            return None
        bound = self._bound(index_register, load)
        count = bound if bound is not None else UNBOUNDED_ENTRIES
        barrier = self.backward.next_address_taken(base)
        targets: list[int] = []
        for number in range(count):
            place = base + number * size
            if bound is None and barrier is not None and place >= barrier:
                break
            entry = self.image.integer(place, size, signed=signed)
            target = None if entry is None else anchor + (entry << shift)
            if target is None or not self.is_code(target):
                if bound is not None:
                    return None
                break
            if bound is None and not self.backward.inside(target):
                break
            targets.append(target)
        # Without a bound, small offsets prove nothing: nearly every byte is a plausible distance.
        if bound is None and (size < 4 or len(targets) < 2):
            return None
        return Table(targets, bounded=bound is not None) if targets else None

    def _pointers(self, load: int, memory: str) -> Table | None:
        """``ldr target, [table, index, lsl #3]``: a computed goto."""
        inner = [part.strip() for part in memory.strip("[]!").split(",")]
        if len(inner) < 3 or not inner[2].endswith("#3"):
            return None
        base = self._address_in(register(inner[0]) or "", load)
        if base is None:
            return None
        bound = self._bound(register(inner[1]) or "", load)
        barrier = self.backward.next_address_taken(base)
        targets: list[int] = []
        for number in range(bound if bound is not None else UNBOUNDED_ENTRIES):
            place = base + 8 * number
            target = self.image.pointer(place)
            ended = bound is None and barrier is not None and place >= barrier
            if ended or target is None or not self.is_code(target) or not self.backward.inside(target):
                break
            targets.append(target)
        return Table(targets, bounded=bound is not None) if len(targets) > 1 else None

    def _address_in(self, wanted: str, before: int) -> int | None:
        """The constant address that a register holds: ``adr``, or ``adrp`` and ``add``."""
        low = 0
        for index in self.backward.walk(before, 4096):
            _, _, mnemonic, operands = self.instructions[index]
            parts = split_operands(operands)
            if register(parts[0]) != wanted or mnemonic.startswith(_STORES):
                continue
            if mnemonic in ("adr", "adrp"):
                value = immediate(parts[1])
                return None if value is None else value + low
            if mnemonic == "add" and len(parts) == 3:
                value = immediate(parts[2])
                if value is None:
                    return None
                low += value
                wanted = register(parts[1]) or wanted
                continue
            if mnemonic == "mov" and register(parts[1]) is not None:
                wanted = register(parts[1]) or wanted
                continue
            return None
        return None

    def _bound(self, index_register: str, load: int) -> int | None:
        steps = (step(self.instructions[index]) for index in self.backward.walk(load, 64))
        return index_bound(steps, {index_register} - {""})
