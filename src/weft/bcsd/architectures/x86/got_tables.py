"""Jump tables of position-independent i386 code: their entries count from the global offset table.

``call get_pc_thunk; add ebx, got``, or ``call next; pop ebx; add ebx, got``, makes the table's address; then
``cmp eax, last; ja default; mov eax, [ebx + eax*4 + table]; add eax, ebx; jmp eax``, or ``add ebx, [ebx + eax*4 +
table]; jmp ebx``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.jump_table import Table
from weft.bcsd.architectures.linear import Bound, Definition, Resolver, Speech, opaque
from weft.bcsd.architectures.operands import Raw, immediate
from weft.bcsd.architectures.x86.registers import family, parse_memory
from weft.bcsd.read.image import Image

#: ``mov register, [esp]; ret``, perhaps behind a landing mark: where a call to it returns to is in the register.
_THUNKS = {
    bytes((0x8B, 0x04 | number << 3, 0x24, 0xC3)): name
    for number, name in enumerate(("rax", "rcx", "rdx", "rbx", "", "rbp", "rsi", "rdi"))
    if name
}
_LANDING = bytes.fromhex("f30f1efb")
_CALL_NEXT = bytes.fromhex("e800000000")
_FRAME = re.compile(r"^dword ptr \[(esp|ebp)(?: ([+-]) (\w+))?\]$")
_SAME = re.compile(r"^(\w+), (?:\1|\[\1(?: \+ 0| \+ \w+\*1)?\])$")
_NO_WRITE = ("cmp", "test", "push", "j", "nop", "bt", "notrack", "ret", "leave", "fst", "fld")
_ABOVE = {"ja": 1, "jbe": 1, "jae": 0, "jb": 0}
#: Instructions between a comparison and the jump that asks for it.
_ASKED = 6


class GotSpeech(Speech):
    """See the base class.

    Args:
        depths: Bytes on the stack above each instruction's ``esp``.
    """

    def __init__(self, depths: dict[int, int]) -> None:
        self._depths = depths

    def defines(self, image: Image, instruction: Raw) -> Definition | None:
        """Loads, sums, shifts, where an instruction stands."""
        address, size, mnemonic, operands = instruction
        if mnemonic == "call":
            thunk = _thunk(image, immediate(operands))
            return Definition(thunk, address + size) if thunk else opaque("rax")
        left, _, right = operands.partition(", ")
        if mnemonic == "mov" and (place := self._place(left, address)) is not None:
            # A place in the frame is as good as a register.
            value = immediate(right)
            return Definition(place, value) if value is not None else self._copy(place, right, address)
        target = family(left)
        if target is None or mnemonic.startswith(_NO_WRITE):
            return None
        if mnemonic in ("lea", "mov", "xchg") and _SAME.match(operands):
            # Padding.
            return None
        if mnemonic == "pop":
            # call next; pop register
            return Definition(target, address) if image.read(address - 5, 5) == _CALL_NEXT else opaque(target)
        return self._sum(mnemonic, target, right, address) or opaque(target)

    def _sum(self, mnemonic: str, target: str, right: str, address: int) -> Definition | None:
        number = immediate(right)
        if mnemonic == "mov" and number is not None:
            return Definition(target, number)
        if mnemonic in ("mov", "movzx", "movsx"):
            copied = self._copy(target, right, address)
            return copied or (_loaded(target, right) if mnemonic == "mov" else None)
        if mnemonic == "lea":
            return _loaded(target, right, plainly=True)
        if mnemonic in ("add", "sub") and number is not None:
            return Definition(target, number if mnemonic == "add" else -number, ((1, target),))
        if mnemonic == "add":
            if family(right) is not None:
                return Definition(target, 0, ((1, target), (1, family(right) or "")))
            if (place := self._place(right, address)) is not None:
                return Definition(target, 0, ((1, target), (1, place)))
            loaded = _loaded(target, right)
            return loaded and loaded._replace(beside=((1, target),))
        if mnemonic == "shl" and number is not None and number < 8:
            return Definition(target, 0, ((1 << number, target),))
        return Definition(target, 0, ((1, target),)) if mnemonic == "and" and number is not None else None

    def _place(self, operand: str, address: int) -> str | None:
        """A name for a place in the frame, the same wherever the stack's end is."""
        found = _FRAME.match(operand)
        if found is None:
            return None
        base, sign, number = found.groups()
        offset = (immediate(number) or 0) * (-1 if sign == "-" else 1) if number else 0
        return f"[{base} {offset - (self._depths.get(address, 0) if base == 'esp' else 0)}]"

    def _copy(self, target: str, source: str, address: int) -> Definition | None:
        """What a register or a place in the frame becomes by another one."""
        name = family(source) or self._place(source, address)
        return None if name is None else Definition(target, 0, ((1, name),))

    def bounds(
        self, instructions: Sequence[Raw], index: int, known: Callable[[str], int | None]
    ) -> Bound | None:
        """``cmp register, last`` in front of an unsigned jump; ``and register, mask``; a byte that is widened."""
        address, _, mnemonic, operands = instructions[index]
        left, _, right = operands.partition(", ")
        if mnemonic == "movzx" and right.startswith("byte ptr ["):
            return Bound(family(left) or "", 256, weak=True)
        last = immediate(right)
        if mnemonic not in ("cmp", "sub", "and") or last is None or last < 0:
            return None
        register = family(left) or self._place(left, address) or left
        if mnemonic == "and":
            return Bound(register, last + 1) if last & (last + 1) == 0 else None
        for _, _, following, _ in instructions[index + 1 : index + _ASKED]:
            if following in _ABOVE:
                return Bound(register, last + _ABOVE[following])
            if following[0] == "j" or following == "cmp":
                break
        return None


def find_table(
    image: Image, instructions: list[Raw], jump: int, backward: Backward, is_code: Callable[[int], bool]
) -> Table | None:
    """See ``Architecture.find_table``."""
    register = family(instructions[jump][3])
    if register is None:
        return None
    target = Definition("pc", 0, ((1, register),))
    return Resolver(GotSpeech(backward.once(_depths)), image, instructions, backward).find(
        jump, target, is_code
    )


def _thunk(image: Image, target: int | None) -> str | None:
    """The register that a called function fills with where it was called from."""
    if target is None:
        return None
    code = image.read(target, 8)
    return _THUNKS.get(code.removeprefix(_LANDING)[:4])


def _depths(instructions: Sequence[Raw]) -> dict[int, int]:
    """Bytes on the stack above each instruction's ``esp``, as far as pushes and sums tell."""
    found: dict[int, int] = {}
    depth = rest = 0
    for address, _, mnemonic, operands in instructions:
        depth = found.setdefault(address, depth)
        left, _, right = operands.partition(", ")
        number = immediate(right)
        if mnemonic == "push":
            depth += 4
        elif mnemonic == "pop":
            depth -= 4
        elif left == "esp" and number is not None and mnemonic in ("add", "sub"):
            depth += number if mnemonic == "sub" else -number
        elif mnemonic[0] == "j" and (target := immediate(operands)) is not None:
            found.setdefault(target, depth)
            rest = depth
        elif mnemonic == "ret":
            # Behind it stands what a jump leads to.
            depth = rest
    return found


def _loaded(target: str, operand: str, *, plainly: bool = False) -> Definition | None:
    """What lies at a memory operand; plainly, its address."""
    memory = parse_memory(operand)
    if memory is None or not (plainly or operand.startswith("dword ptr [")):
        return None
    terms = [(1, family(memory.base))] if memory.base else []
    terms += [(memory.scale, family(memory.scaled))] if memory.scaled else []
    known = tuple((factor, name) for factor, name in terms if name is not None)
    if len(known) != len(terms):
        return None
    return Definition(target, memory.displacement, known, None if plainly else (4, True))
