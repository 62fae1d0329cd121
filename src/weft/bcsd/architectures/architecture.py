"""What must be known about a processor family: decoding, flow, addresses, jump tables, operands, stubs.

An architecture holds no state of a file: what depends on one is handed over as its
:class:`~weft.bcsd.read.image.Image`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from weft.bcsd.architectures.operands import Parts, Raw, immediate, plain_parts

if TYPE_CHECKING:
    import capstone

    from weft.bcsd.architectures.backward import Backward
    from weft.bcsd.architectures.jump_table import Table
    from weft.bcsd.architectures.relocation import Relocation
    from weft.bcsd.read.image import Image, Region, UnwindRange

_LOOKED_AT = 256
"""Bytes of a function that is looked at in full."""


class FlowKind(IntEnum):
    """What an instruction does to control."""

    NEXT = 0
    JUMP = 1
    BRANCH = 2
    CALL = 3
    INDIRECT_JUMP = 4
    INDIRECT_CALL = 5
    RETURN = 6
    RETURN_IF = 7
    STOP = 8
    INDIRECT_JUMP_IF = 9


class Flow(NamedTuple):
    """The kind and, for direct transfers, the address."""

    kind: FlowKind
    target: int | None = None


class Called(NamedTuple):
    """What a call reaches: an import by its name, a function of the same file by its address, or nobody knows."""

    name: str | None = None
    address: int | None = None


NOWHERE = Called()
NEXT = Flow(FlowKind.NEXT)
RETURN = Flow(FlowKind.RETURN)
STOP = Flow(FlowKind.STOP)

#: Kinds after which control never reaches the next instruction.
TERMINAL = frozenset({FlowKind.JUMP, FlowKind.INDIRECT_JUMP, FlowKind.RETURN, FlowKind.STOP})


class Plain(dict[str, bool]):
    """Remembers which mnemonics can be skipped without looking at their operands."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self._architecture = architecture

    def __missing__(self, mnemonic: str) -> bool:
        plain = not self._architecture.matters(mnemonic)
        self[mnemonic] = plain
        return plain


#: A shift or an extension of a register.
_SCALES = re.compile(r"\b(?:lsl|lsr|asr|ror|[us]xt[bhwx])\b(?: #\w+)?")


class Architecture(ABC):
    """One instruction set under one name.

    Attributes:
        name: In tables, models and messages.
        pointer_size: Bytes of an address.
        machines: ``"elf"``, ``"pe"`` or ``"macho"`` → the name that lief gives its machine.
        step: Bytes to skip after an undecodable one.
        delay: Instructions executed after a jump before it takes effect (MIPS).
        mode_bit: A bit of a code pointer that chooses how to decode and is no part of the address (Thumb).
        padding: Mnemonics that only fill space.
        fini_size: Bytes of ``.fini``, with which code ends where linkers of GNU lay it out; at most.
        lacks_unwinding: Whether stripped files of it seldom have unwind tables, so that functions are searched for in
            code that nothing leads to.
        names_callees: Whether calls name what they call, and no constants stand among the code, so that calls tell how
            far it reaches in a file without a table of sections.
        global_pointer: Bytes from the begin of the global offset table to where a register points that code counts its
            entries from (MIPS); 0 where there is none.
        exception_record: Bytes of a record of a PE file's exception directory; 0 where nothing is known of one.
        pool_loads: How the mnemonics begin of what may read constants among the code: see :meth:`literals`.
        relocations: Kind → what it does to an object's bytes.
        builders: Mnemonics that may build a wide constant in pieces: see :meth:`piece`.
        page_makers: Mnemonics whose operand is the page of an address, not the address itself.
        plain: Mnemonic → whether :meth:`flow` finds nothing in it.
    """

    name: str
    pointer_size: int
    machines: Mapping[str, str]
    step: int = 1
    delay: int = 0
    mode_bit: int = 0
    padding: frozenset[str] = frozenset({"nop"})
    builders: frozenset[str] = frozenset()
    page_makers: frozenset[str] = frozenset()
    relocations: Mapping[int, Relocation] = {}
    fini_size: int = 36
    lacks_unwinding: bool = False
    names_callees: bool = False
    global_pointer: int = 0
    exception_record: int = 0
    pool_loads: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.plain = Plain(self)

    def __reduce__(self) -> tuple[Callable[[str], Architecture], tuple[str]]:
        """There is one of each name, in every process."""
        from weft.bcsd.architectures import architecture_named

        return architecture_named, (self.name,)

    # -- decoding and flow

    @abstractmethod
    def decoder(self, image: Image, address: int) -> capstone.Cs:
        """The capstone handle for the function at ``address``."""

    @abstractmethod
    def matters(self, mnemonic: str) -> bool:
        """Whether :meth:`flow` may find anything in such an instruction."""

    @abstractmethod
    def flow(self, mnemonic: str, operands: str) -> Flow:
        """What the instruction does to control."""

    def place(self, operand: str) -> int | None:
        """The address that a direct jump or call names, None if the operand is no number.

        A branch back over address 0 is printed as a negative number; the processor wraps around.
        """
        value = immediate(operand)
        return None if value is None else value & ((1 << 8 * self.pointer_size) - 1)

    def flow_at(self, address: int, mnemonic: str, operands: str) -> Flow:
        """The same of an instruction at an address, for decoders that print distances instead of targets."""
        return self.flow(mnemonic, operands)

    def entry_of(self, image: Image, target: int) -> int:
        """The start of the function that a call of ``target`` enters."""
        return target

    def is_entry(self, image: Image, code: bytes, mode: bool) -> bool:
        """Whether code of a mode (see :attr:`mode_bit`) begins as functions do, so that a gap's first bytes are one."""
        return False

    def modes(self, image: Image, code: bytes) -> tuple[bool, ...]:
        """The modes that a stretch of code may be in, by its bytes: see :attr:`mode_bit`."""
        return (False,)

    def mode_here(self, image: Image, code: bytes) -> bool | None:
        """The mode that the first bytes of a stretch of code are surely in; none where they do not tell."""
        return None

    def switches_mode(self, mnemonic: str) -> bool:
        """Whether a direct call leads to code of the other mode: see :attr:`mode_bit`."""
        return False

    def returns(self, instructions: Sequence[Raw], index: int) -> bool:
        """Whether what :meth:`flow` calls a return is one, and no jump to an address that was just worked out."""
        return True

    def inline_table(self, image: Image, before: list[Raw]) -> int | None:
        """Where a jump's own table, which stands behind it, ends.

        Args:
            image: The binary.
            before: The instructions up to and with the jump.
        """
        return None

    def may_lack_return(self, code: bytes) -> bool:
        """A cheap look at the bytes: False only if a return, or a path to the end, is surely there.

        Without one, short functions are looked at in full, and longer ones taken to return.
        """
        return len(code) <= _LOOKED_AT

    def is_padding(self, mnemonic: str, operands: str) -> bool:
        """Whether the instruction only fills space."""
        return mnemonic in self.padding

    def is_trailer(self, rest: bytes) -> bool:
        """Whether what stands behind a function's last instruction, all of it, is a table about the function."""
        return False

    def literals(self, image: Image, start: int, instructions: list[Raw]) -> set[int]:
        """Addresses among the instructions of the function at ``start`` that hold constants instead."""
        return set()

    # -- addresses

    def addresses(self, image: Image, instructions: list[Raw]) -> list[tuple[int, int]]:
        """Index of each instruction that computes or reads an address, and that address."""
        return []

    @property
    def tells_addresses(self) -> bool:
        """Whether :meth:`addresses` finds what the instructions refer to."""
        return type(self).addresses is not Architecture.addresses

    def slot(self, instruction: Raw) -> int | None:
        """Where the pointer lies through which an indirect call or jump goes, if the operand says so."""
        return None

    def called(self, image: Image, instructions: Sequence[Raw], index: int) -> Called:
        """What an indirect call or jump surely reaches.

        Args:
            image: The binary.
            instructions: In the order of their addresses, those before the call at least.
            index: Of the call.
        """
        slot = self.slot(instructions[index]) if image.slots else None
        return NOWHERE if slot is None else Called(image.slots.get(slot))

    def find_table(
        self,
        image: Image,
        instructions: list[Raw],
        jump: int,
        backward: Backward,
        is_code: Callable[[int], bool],
    ) -> Table | None:
        """The targets of an indirect jump.

        Args:
            image: Where the table's bytes are.
            instructions: The function's.
            jump: Index of the jump.
            backward: Walks the function against the flow.
            is_code: Whether an address can be a target: the start of an instruction of this function, or code
                outside it.

        Returns:
            The table, or None where the jump does not follow a known form.
        """
        return None

    def is_tail_call(self, instructions: list[Raw], jump: int, backward: Backward) -> bool:
        """Whether an indirect jump of unknown target is surely a call through a pointer, not a switch."""
        return False

    def stubs(self, image: Image, region: Region) -> dict[int, str]:
        """Address of each import stub in ``region`` → the name of what it calls.

        A stub loads a pointer from a slot that the loader fills and jumps to it. The slot's address is computed
        from the stub's bytes; its relocation names the symbol.
        """
        return {}

    def stub_place(self, image: Image, start: int) -> tuple[int, int] | None:
        """Where one of :meth:`stubs` begins and ends, in code that may be anything; None where it is none."""
        return start, start + 16

    def begins_stubs(self, image: Image, start: int, end: int) -> bool:
        """Whether a linker wrote an unwind range for its stubs, some of which are known."""
        return False

    def hidden_stubs(self, image: Image) -> dict[int, tuple[int, str | None]]:
        """Import stubs that stand among other code: address → the address behind it, and what it calls if known."""
        return {}

    def exceptions(self, image: Image, table: bytes, base: int) -> list[UnwindRange]:
        """Function ranges of a PE file's exception directory, ``base`` being the address that it counts from."""
        return []

    # -- operands

    def take_apart(self, mnemonic: str, operands: str, address: str | None) -> Parts:
        """One instruction's operands as tokens and numbers.

        Args:
            mnemonic: As capstone prints it.
            operands: As capstone prints them.
            address: Token for the operand that is an address, None if there is none.
        """
        return plain_parts(mnemonic, operands, address)

    def shape(self, operands: str) -> tuple[str, ...]:
        """What of operands is no choice of registers: how wide they are, as far as names say, and what scales them."""
        return tuple(_SCALES.findall(operands))

    def spans(self, mnemonic: str, operands: str) -> int:
        """Bytes that the memory operand reads or writes; 0 where the text does not say, or there is none."""
        return 0

    def piece(self, mnemonic: str, operands: str, known: dict[str, int]) -> int | None:
        """The value so far of a constant that is built in pieces, signed; ``known`` keeps it by register."""
        return None
