"""Bytes to p-code, an instruction at a time, each distinct one translated once.

SLEIGH translates at one virtual address; constants near it are relative to the instruction, and are put right for
each place that the instruction stands at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pypcode

from weft.bcsd.lift.decode.processors import Processor
from weft.bcsd.lift.decode.registers import Families

#: Kinds of operands: a number; one that counts from the instruction; one that counts from its page; a register; a
#: temporary of the instruction; a place in memory; one that counts from the instruction; one that counts from its
#: region of 256 MiB.
NUMBER, RELATIVE, PAGE, REGISTER, TEMPORARY, PLACE, PLACE_RELATIVE, PLACE_IN_REGION = range(8)
#: Operations that end a piece of straight code.
FLOW = frozenset({"BRANCH", "CBRANCH", "BRANCHIND", "RETURN"})
CALLS = frozenset({"CALL", "CALLIND"})
#: A call of the system with what it is given and what it gives: p-code names neither.
SYSTEM = "SYSTEM"


class Operand(NamedTuple):
    """One operand: its kind, its number or place, its bytes, how many lower bytes of the place it leaves out."""

    kind: int
    key: int
    size: int
    skipped: int = 0


class Step(NamedTuple):
    """One p-code operation."""

    op: str
    out: Operand | None
    ins: tuple[Operand, ...]


Steps = tuple[Step, ...]

_SHORT = {
    "INT_2COMP": "NEG",
    "INT_NEGATE": "NEGATE",
    "BOOL_NEGATE": "NOT",
    "FLOAT_NEG": "FLOAT_NEG",
}
_NAMES = {
    id(getattr(pypcode.OpCode, name)): _SHORT.get(name, name.removeprefix("INT_"))
    for name in dir(pypcode.OpCode)
    if name.isupper()
}
_IMARK, _OTHER = id(pypcode.OpCode.IMARK), id(pypcode.OpCode.CALLOTHER)
_REFUSALS = (pypcode.BadDataError, pypcode.UnimplError, pypcode.LowlevelError, pypcode.DecoderError)
_NEAR = 1 << 31
_NEAR_32 = 1 << 26
#: Addresses given to blocks of conditional Thumb code before SLEIGH is started afresh.
_GROUPS = 100_000
_MASK_28 = 0x0FFFFFFF


class Translator:
    """One processor in one state.

    Args:
        processor: Which.
        thumb: Whether it decodes Thumb.
        thorough: Whether calls of the system have registers, and fences are operations.
    """

    def __init__(self, processor: Processor, thumb: bool = False, *, thorough: bool = False) -> None:
        self.processor = processor
        self.thumb = thumb
        self.thorough = thorough
        self._begin()
        self.families = Families(self._context.registers, processor)
        self._operands: dict[tuple[str, int, int], Operand] = {}
        self._base = 0x5000_0000 if processor.word == 4 else 0x7000_0000_0000
        self._near = _NEAR_32 if processor.word == 4 else _NEAR
        self._groups = 0

    def _begin(self) -> None:
        self._context = pypcode.Context(self.processor.language)
        if self.thumb:
            self._context.setVariableDefault(self.processor.thumb, 1)

    def steps(self, code: bytes, low: int) -> Steps | None:
        """The p-code of one instruction, of one with its delay slot, or of a Thumb IT block.

        Args:
            code: Its bytes.
            low: The two lowest bits of where it stands.

        Returns:
            None where SLEIGH cannot decode it.
        """
        if self.thorough and code in self.processor.fences:
            return (Step("CALLOTHER", None, (Operand(NUMBER, int.from_bytes(code, "big"), 4),)),)
        base = self._base + low
        grouped = self.thumb and is_it(code)
        if grouped:
            # What an IT block tells SLEIGH about the next addresses stays there for ever.
            self._groups += 1
            if self._groups % _GROUPS == 0:
                self._begin()
            base += 64 * (self._groups % _GROUPS + 1)
        if self.processor.thumb:
            code = without_exchange(code, self.thumb, self.processor.big_endian)
        try:
            ops = self._context.translate(code, base).ops
        except (*_REFUSALS, IndexError):
            # The last: bytes that end within an instruction, or before its delay slot.
            return None
        page, region = (
            self._page(code),
            self.processor.region_jumps and _jumps_in_region(code, self.processor),
        )
        found: list[Step] = []
        for op in ops:
            identity = id(op.opcode)
            if identity == _IMARK:
                # Where an instruction of a group begins: jumps between them count in addresses.
                found.append(Step("IMARK", None, (Operand(RELATIVE, op.inputs[0].offset - base, 1),)))
                continue
            out = op.output
            step = Step(
                _NAMES[identity],
                None if out is None else self._operand(out, base, page, region),
                tuple([self._operand(varnode, base, page, region) for varnode in op.inputs]),
            )
            found.append(self._system(step) if identity == _OTHER and self._calls_system(op) else step)
        return tuple(found)

    def _calls_system(self, op: Any) -> bool:
        name = self.processor.system_call
        return self.thorough and name != "" and op.inputs[0].getUserDefinedOpName() == name

    def _system(self, step: Step) -> Step:
        """A call of the system: what is left of the operation says only which instruction it was."""
        names = (self.processor.results[0], *self.processor.system_arguments)
        out, *given = (
            Operand(REGISTER, family, self.processor.word)
            for family in map(self.families.named, names)
            if family is not None
        )
        return Step(SYSTEM, out, (*step.ins[1:], *given))

    def _page(self, code: bytes) -> bool:
        mask, value = self.processor.page_relative
        return len(code) == 4 and int.from_bytes(code, "little") & mask == value

    def _operand(self, varnode: Any, base: int, page: bool, region: bool) -> Operand:
        space, offset, size = varnode.space.name, varnode.offset, varnode.size
        if space == "const":
            if abs(offset - base) >= self._near:
                return Operand(NUMBER, offset, size)
            return (
                Operand(PAGE, offset - (base & ~0xFFF), size)
                if page
                else Operand(RELATIVE, offset - base, size)
            )
        if space == "ram":
            if region:
                return Operand(PLACE_IN_REGION, offset & _MASK_28, size)
            if abs(offset - base) >= self._near:
                return Operand(PLACE, offset, size)
            return Operand(PLACE_RELATIVE, offset - base, size)
        key = (space, offset, size)
        known = self._operands.get(key)
        if known is None:
            if space == "register":
                family, below = self.families.locate(offset, size)
                known = Operand(REGISTER, family, size, below)
            else:
                known = Operand(TEMPORARY, offset, size)
            self._operands[key] = known
        return known


def _jumps_in_region(code: bytes, processor: Processor) -> bool:
    """Whether a MIPS instruction replaces the low bits of the address (``j``, ``jal``)."""
    return _word(code, processor) >> 26 in (2, 3)


def _word(code: bytes, processor: Processor) -> int:
    return int.from_bytes(code[:4], "big" if processor.big_endian else "little")


def has_delay_slot(code: bytes, processor: Processor) -> bool:
    """Whether a MIPS instruction is carried out after the one behind it."""
    word = _word(code, processor)
    opcode = word >> 26
    if opcode == 0:
        return word & 63 in (8, 9)
    if opcode == 1:
        return word >> 16 & 31 in (0, 1, 2, 3, 16, 17, 18, 19)
    return opcode in (2, 3, 4, 5, 6, 7, 20, 21, 22, 23) or (opcode == 17 and word >> 21 & 31 == 8)


def is_it(code: bytes) -> bool:
    """Whether Thumb code begins with an IT instruction."""
    return len(code) >= 2 and code[1] == 0xBF and code[0] & 15 != 0


def it_length(code: bytes) -> int:
    """How many instructions an IT instruction makes conditional."""
    mask = code[0] & 15
    return 4 - ((mask & -mask).bit_length() - 1)


def without_exchange(code: bytes, thumb: bool, big_endian: bool) -> bytes:
    """Code with each BLX to an address as a BL.

    SLEIGH keeps the other state for the target and everything behind it, and crashes there.
    """
    if thumb:
        out = bytearray(code)
        place = 0
        while place + 4 <= len(out):
            first, second = (1, 3) if not big_endian else (0, 2)
            if out[place + first] & 0xF8 == 0xF0 and out[place + second] & 0xD0 == 0xC0:
                out[place + second] |= 0x10
            wide = out[place + first] & 0xF8 in (0xE8, 0xF0, 0xF8)
            place += 4 if wide else 2
        return bytes(out)
    top = 0 if big_endian else 3
    if len(code) == 4 and code[top] & 0xFE == 0xFA:
        out = bytearray(code)
        out[top] = 0xEB
        return bytes(out)
    return code
