"""x86-64 and i386."""

from __future__ import annotations

import re
from collections.abc import Callable

import capstone

from weft.bcsd.architectures.architecture import NEXT, RETURN, STOP, Architecture, Flow, FlowKind
from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.jump_table import Table, loaded_plainly
from weft.bcsd.architectures.operands import Parts, Raw
from weft.bcsd.architectures.x86 import got_tables
from weft.bcsd.architectures.x86.addresses import absolute, relative_to_instruction
from weft.bcsd.architectures.x86.jump_tables import find_table
from weft.bcsd.architectures.x86.operands import x86_parts, x86_shape, x86_span
from weft.bcsd.architectures.x86.registers import family, parse_memory
from weft.bcsd.architectures.x86.relocations import AMD64, I386
from weft.bcsd.architectures.x86.stubs import x86_begins_stubs, x86_stub_place, x86_stubs
from weft.bcsd.read.image import Image, Region, UnwindRange, unpack_words

_PREFIXES = frozenset({"bnd", "notrack", "repz", "repne", "rep", "lock", "data16"})
_RETURNS = frozenset({"ret", "retf", "retfq", "iret", "iretd", "iretq", "sysret", "sysexit", "sysretq"})
_STOPS = frozenset({"hlt", "ud2", "ud1", "ud0", "int3"})
_LOOPS = frozenset({"loop", "loope", "loopne", "xbegin"})
_NOP_LIKE = frozenset({"nop", "int3", "fnop"})
_SELF_MOVES = re.compile(r"^(\w+), \1$")
_ZERO_LEA = re.compile(r"^(\w+), \[(\1)(?: \+ 0| \+ \w+\*1)?\]$")


_CHAINED_UNWIND = 0x4


class X86(Architecture):
    """x86 in 64-bit or 32-bit mode."""

    def __init__(self, name: str, pointer_size: int, mode: int, machines: dict[str, str]) -> None:
        super().__init__()
        self.name = name
        self.pointer_size = pointer_size
        self.machines = machines
        self.exception_record = 12 if pointer_size == 8 else 0
        self.relocations = AMD64 if pointer_size == 8 else I386
        self._decoder = capstone.Cs(capstone.CS_ARCH_X86, mode)

    def decoder(self, image: Image, address: int) -> capstone.Cs:
        """The same handle for every address."""
        return self._decoder

    def matters(self, mnemonic: str) -> bool:
        """Jumps, calls, returns, stops."""
        word = mnemonic.rpartition(" ")[2]
        return word[0] == "j" or word in ("call", "lcall", "ljmp") or word in _RETURNS | _STOPS | _LOOPS

    def flow(self, mnemonic: str, operands: str) -> Flow:
        """See the base class. A software breakpoint counts as a stop: compilers emit it where nothing returns."""
        word = mnemonic.rpartition(" ")[2]
        if word == "call":
            target = self.place(operands)
            return Flow(FlowKind.INDIRECT_CALL) if target is None else Flow(FlowKind.CALL, target)
        if word == "jmp":
            target = self.place(operands)
            return Flow(FlowKind.INDIRECT_JUMP) if target is None else Flow(FlowKind.JUMP, target)
        if word in _RETURNS:
            return RETURN
        if word in _STOPS:
            return STOP
        if word[0] == "j" or word in _LOOPS:
            return Flow(FlowKind.BRANCH, self.place(operands))
        if word == "lcall":
            return Flow(FlowKind.INDIRECT_CALL)
        return Flow(FlowKind.INDIRECT_JUMP) if word == "ljmp" else NEXT

    def is_padding(self, mnemonic: str, operands: str) -> bool:
        """Nops of every length, breakpoints, and the moves and address computations that change nothing."""
        word = mnemonic.rpartition(" ")[2]
        if word in _NOP_LIKE:
            return True
        if word == "xchg":
            return bool(_SELF_MOVES.match(operands))
        return word == "lea" and bool(_ZERO_LEA.match(operands))

    def may_lack_return(self, code: bytes) -> bool:
        """A function that does not return ends in a call, a jump or a stop, or holds no return opcode."""
        if not code:
            return False
        return (
            code[-5:-4] == b"\xe8" or code[-2:] == b"\x0f\x0b" or code[-1:] == b"\xf4" or b"\xc3" not in code
        )

    def addresses(self, image: Image, instructions: list[Raw]) -> list[tuple[int, int]]:
        """Relative to the instruction in 64-bit code, and absolute ones where the base is fixed."""
        found = relative_to_instruction(instructions) if self.pointer_size == 8 else []
        return found + absolute(image, instructions) if image.fixed_base else found

    def slot(self, instruction: Raw) -> int | None:
        """``call [rip + displacement]``, ``jmp [displacement]``."""
        address, size, _, operands = instruction
        memory = parse_memory(operands) if "[" in operands else None
        if memory is None or memory.scaled is not None:
            return None
        if memory.base == "rip":
            return address + size + memory.displacement
        return memory.displacement if memory.base is None else None

    def find_table(
        self,
        image: Image,
        instructions: list[Raw],
        jump: int,
        backward: Backward,
        is_code: Callable[[int], bool],
    ) -> Table | None:
        """See the base class."""
        found = find_table(image, instructions, jump, backward, is_code)
        if found is None and self.pointer_size == 4:
            return got_tables.find_table(image, instructions, jump, backward, is_code)
        return found

    def is_tail_call(self, instructions: list[Raw], jump: int, backward: Backward) -> bool:
        """A jump through memory without an index, or through a register that was loaded so."""
        memory = parse_memory(instructions[jump][3])
        if memory is not None:
            return memory.scaled is None
        return loaded_plainly(instructions, jump, backward, family, _is_indexed)

    def stub_place(self, image: Image, start: int) -> tuple[int, int] | None:
        """See the base class."""
        return x86_stub_place(image, start)

    def begins_stubs(self, image: Image, start: int, end: int) -> bool:
        """See the base class."""
        return x86_begins_stubs(image, start, end)

    def stubs(self, image: Image, region: Region) -> dict[int, str]:
        """See the base class."""
        return x86_stubs(image, region)

    def exceptions(self, image: Image, table: bytes, base: int) -> list[UnwindRange]:
        """x86-64: ``RUNTIME_FUNCTION`` entries of 12 bytes. A chained entry is a later part of a function."""
        found: list[UnwindRange] = []
        words = unpack_words(table, 4, signed=False, big_endian=False)
        for index in range(0, len(words) - 2, 3):
            start, end, information = words[index : index + 3]
            if not start or end <= start or image.code_map.at(base + start) is None:
                continue
            head = image.read(base + information, 1)
            chained = bool(head) and bool(head[0] >> 3 & _CHAINED_UNWIND)
            found.append(UnwindRange(base + start, base + end, part=chained))
        return sorted(found, key=lambda each: (each.start, each.end))

    def shape(self, operands: str) -> tuple[str, ...]:
        """See the base class."""
        return x86_shape(operands)

    def spans(self, mnemonic: str, operands: str) -> int:
        """As the operand says: ``dword ptr [...]``."""
        return x86_span(operands)

    def take_apart(self, mnemonic: str, operands: str, address: str | None) -> Parts:
        """See the base class."""
        return x86_parts(mnemonic, operands, address)


def _is_indexed(memory: str) -> bool:
    parsed = parse_memory(memory)
    return parsed is not None and parsed.scaled is not None


ARCHITECTURES = (
    X86("x86_64", 8, capstone.CS_MODE_64, {"elf": "X86_64", "pe": "AMD64", "macho": "X86_64"}),
    X86("i386", 4, capstone.CS_MODE_32, {"elf": "I386", "pe": "I386"}),
)
