"""Jump tables: what one is, and how to tell a call through a pointer from a switch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from weft.bcsd.architectures.backward import Backward
from weft.bcsd.architectures.operands import Raw

#: Entries read from a table whose bound was not found.
UNBOUNDED_ENTRIES = 1024
_FRAME_BASES = ("[rsp", "[rbp", "[sp", "[x29")


class Table(NamedTuple):
    """A jump table's targets, in the order of its entries, and whether its length was known."""

    targets: list[int]
    bounded: bool


def loaded_plainly(
    instructions: list[Raw],
    index: int,
    backward: Backward,
    family: Callable[[str], str | None],
    is_indexed: Callable[[str], bool],
) -> bool:
    """Whether the register that an indirect jump goes through was loaded without an index, or came in.

    True where the address is a field, a slot, a stack place or an argument: a jump table is always indexed.

    Args:
        instructions: The function's.
        index: Of the jump.
        backward: Walks the function against the flow.
        family: A register's widest name.
        is_indexed: Whether a memory operand has an index.
    """
    wanted = family(instructions[index][3])
    for position in backward.walk(index, 256):
        _, _, mnemonic, operands = instructions[position]
        destination, _, source = operands.partition(", ")
        if family(destination) != wanted or mnemonic.startswith(("cmp", "test", "st", "cb", "tb", "push")):
            continue
        if mnemonic.startswith(("mov", "ldr", "ldur", "pop")):
            if family(source) is not None:
                wanted = family(source)
                continue
            if "[" not in source:
                return mnemonic.startswith("pop")
            # Spilled code addresses are computed gotos as often as they are function pointers.
            return not any(base in source for base in _FRAME_BASES) and not is_indexed(source)
        return False
    # The function's entry was reached: the pointer is an argument.
    return True
