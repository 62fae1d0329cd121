"""Jump tables on x86: from an indirect jump back to the table, its bound and its entries.

Compilers emit two forms. Absolute: ``jmp [index*8 + table]``, or a load of that pointer and ``jmp reg``.
Relative: ``movsxd offset, [base + index*4]; add offset, base; jmp offset`` with ``lea base, [rip + table]``.
In front stands ``cmp index, bound; ja default``, unless the compiler knows that the index is in range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.index_bound import Step, StepKind, index_bound
from weft.bcsd.architectures.jump_table import UNBOUNDED_ENTRIES, Table
from weft.bcsd.architectures.operands import Raw, immediate
from weft.bcsd.architectures.x86.registers import Memory, family, parse_memory
from weft.bcsd.read.image import Image

_LOAD_WINDOW = 24
_WHOLE_FUNCTION = 4096
_UNSIGNED_ABOVE = {"ja": 1, "jbe": 1, "jae": 0, "jb": 0}


def find_table(
    image: Image, instructions: list[Raw], jump: int, backward: Backward, is_code: Callable[[int], bool]
) -> Table | None:
    """See ``Architecture.find_table``."""
    search = _Search(image, instructions, backward, is_code)
    operand = instructions[jump][3]
    memory = parse_memory(operand)
    if memory is not None:
        return search.absolute(memory, jump)
    register = family(operand)
    return search.through_register(register, jump) if register is not None else None


def step(instruction: Raw) -> Step:
    """What an instruction says about a table's index."""
    _, _, mnemonic, operands = instruction
    if mnemonic in _UNSIGNED_ABOVE:
        return Step(StepKind.ABOVE, value=_UNSIGNED_ABOVE[mnemonic])
    left, _, right = operands.partition(", ")
    target = _name(left)
    number = immediate(right)
    if mnemonic in ("cmp", "sub") and number is not None:
        # clang at -O0 compares by subtracting from a copy.
        return Step(StepKind.COMPARE, target, value=number)
    if mnemonic == "and" and number is not None:
        return Step(StepKind.MASK, target, value=number)
    if mnemonic in ("mov", "movzx", "movsx", "movsxd") and number is None:
        return Step(StepKind.COPY, target, _name(right))
    memory = parse_memory(right) if mnemonic == "lea" else None
    if memory is not None and memory.base is None and memory.scaled is not None and memory.displacement == 0:
        return Step(StepKind.COPY, target, _name(memory.scaled))
    if mnemonic in ("cmp", "test", "push", "call") or mnemonic[0] == "j":
        return Step(StepKind.OTHER)
    if mnemonic in ("cdqe", "nop"):
        return Step(StepKind.OTHER)
    return Step(StepKind.OTHER, target)


def _name(operand: str) -> str:
    """A register's family, or a memory operand without its size."""
    return family(operand) or operand.rpartition(" ptr ")[2]


@dataclass
class _Search:
    image: Image
    instructions: list[Raw]
    backward: Backward
    is_code: Callable[[int], bool]

    def through_register(self, register: str, jump: int) -> Table | None:
        """``jmp register``: find the load that made it, and what was added to it."""
        addends: set[str] = set()
        for index in self.backward.walk(jump, _LOAD_WINDOW):
            _, _, mnemonic, operands = self.instructions[index]
            destination, _, source = operands.partition(", ")
            if family(destination) != register:
                continue
            if mnemonic == "add" and family(source) is not None:
                addends.add(family(source) or "")
                continue
            memory = parse_memory(source)
            if memory is None:
                if mnemonic == "mov" and family(source) is not None:
                    register = family(source) or register
                    continue
                if mnemonic in ("cdqe", "nop"):
                    continue
                # ``add base, offset; jmp base`` with the load into the other register.
                return self._loaded_into(addends, register, index + 1) if addends else None
            if mnemonic == "lea":
                return self._loaded_into(addends, register, jump) if addends else None
            if not addends:
                return self.absolute(memory, index) if mnemonic == "mov" else None
            return self._relative(memory, index, addends)
        return self._loaded_into(addends, register, jump) if addends else None

    def _loaded_into(self, registers: set[str], base: str, before: int) -> Table | None:
        """The scaled load stands in the addend: the jump's own register is the base."""
        for index in self.backward.walk(before, _LOAD_WINDOW):
            _, _, mnemonic, operands = self.instructions[index]
            destination, _, source = operands.partition(", ")
            if family(destination) not in registers or mnemonic not in ("movsxd", "mov", "movslq"):
                continue
            memory = parse_memory(source)
            if memory is not None:
                return self._relative(memory, index, {base})
        return None

    def _relative(self, memory: Memory, load: int, addends: set[str]) -> Table | None:
        """Four-byte offsets from the table's own address."""
        index_register = family(memory.scaled or "") or ""
        bases = [family(r) for r in (memory.base, memory.scaled) if r] + sorted(addends)
        known = [self._address_in(r, load) for r in dict.fromkeys(bases) if r]
        candidates = [address for address in known if address is not None]
        if memory.base == "rip":
            candidates.insert(
                0, memory.displacement + self.instructions[load][0] + self.instructions[load][1]
            )
        bound = self._bound(memory, index_register, load)
        for base in dict.fromkeys(candidates):
            table = self._read(base, 4, bound, relative_to=base)
            if table is not None:
                return table
        if candidates:
            return None
        # The base came from the stack: any address taken in this function may be it, if one alone fits.
        fitting = [
            table
            for base in self.backward.addresses_taken()
            if (table := self._read(base, 4, bound, relative_to=base)) is not None and bound is not None
        ]
        return fitting[0] if len(fitting) == 1 else None

    def absolute(self, memory: Memory, load: int) -> Table | None:
        """Pointers to code, at a displacement or from a base register."""
        if memory.scaled is None and memory.scale == 1 and memory.base is not None:
            # One pointer without an index: a call through a structure or a slot, not a table.
            return self._absolute_with_computed_index(memory, load)
        size = self.image.pointer_size
        index_register = family(memory.scaled or "") or ""
        if memory.scale not in (1, size):
            return None
        base = memory.displacement
        if memory.base is not None:
            origin = self._address_in(family(memory.base) or "", load)
            if origin is None and memory.scale == 1:
                # Without a scale the two registers look alike: the other one may be the table.
                origin = self._address_in(index_register, load)
                index_register = family(memory.base) or ""
            if origin is None:
                return None
            base += origin
        bound = self._bound(memory, index_register, load)
        return self._read(base & ((1 << (8 * size)) - 1), size, bound, relative_to=None)

    def _absolute_with_computed_index(self, memory: Memory, load: int) -> Table | None:
        """``shl rax, 3; add rax, table; mov rax, [rax]``: what -O0 makes of a computed goto is left unresolved."""
        register = family(memory.base or "")
        for index in self.backward.walk(load, 6):
            _, _, mnemonic, operands = self.instructions[index]
            destination, _, source = operands.partition(", ")
            if family(destination) != register:
                continue
            inner = parse_memory(source)
            if mnemonic == "lea" and inner is not None and inner.scaled is not None:
                base = self._address_in(family(inner.base or "") or "", index)
                if base is None:
                    return None
                bound = self._bound(inner, family(inner.scaled) or "", index)
                return self._read(base + inner.displacement, self.image.pointer_size, bound, relative_to=None)
            return None
        return None

    def _address_in(self, register: str, before: int) -> int | None:
        """The constant address that a register holds: ``lea r, [rip + x]`` or ``mov r, immediate``."""
        for index in self.backward.walk(before, _WHOLE_FUNCTION):
            address, size, mnemonic, operands = self.instructions[index]
            destination, _, source = operands.partition(", ")
            if family(destination) != register or mnemonic in ("cmp", "test", "push"):
                continue
            if mnemonic == "lea":
                memory = parse_memory(source)
                if memory is not None and memory.base == "rip":
                    return address + size + memory.displacement
            if mnemonic in ("mov", "movabs"):
                value = immediate(source)
                if value is not None:
                    return value
                if family(source) is not None:
                    register = family(source) or register
                    continue
            if mnemonic == "pop":
                continue
            # A definition that is no constant on this path; an earlier, hoisted one may still hold.
            return None
        return None

    def _bound(self, memory: Memory, index_register: str, load: int) -> int | None:
        names = {index_register, family(memory.base or "") or ""} - {""}
        return index_bound((step(self.instructions[index]) for index in self.backward.walk(load, 64)), names)

    def _read(self, base: int, size: int, bound: int | None, *, relative_to: int | None) -> Table | None:
        """Read entries; with a bound every one must be code, without it they end at the first that is not."""
        inside = False
        targets: list[int] = []
        barrier = self.backward.next_address_taken(base)
        count = bound if bound is not None else UNBOUNDED_ENTRIES
        for number in range(count):
            place = base + number * size
            if bound is None and barrier is not None and place >= barrier:
                break
            if relative_to is None:
                target = self.image.pointer(place)
            else:
                offset = self.image.integer(place, size, signed=True)
                target = None if offset is None else relative_to + offset
            if target is None or not self.is_code(target):
                if bound is not None:
                    return None
                break
            if bound is None and not self.backward.inside(target):
                break
            inside = inside or self.backward.inside(target)
            targets.append(target)
        if not inside or (bound is None and len(targets) < 2):
            return None
        return Table(targets, bounded=bound is not None)
