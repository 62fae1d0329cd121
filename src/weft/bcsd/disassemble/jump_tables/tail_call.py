"""Indirect jumps that are calls through a pointer, told from switches."""

from __future__ import annotations

from collections.abc import Callable

from weft.bcsd.disassemble.jump_tables import tables_arm64, tables_x86
from weft.bcsd.disassemble.jump_tables.backward import Backward

Raw = tuple[int, int, str, str]
_FRAME_BASES = ("[rsp", "[rbp", "[sp", "[x29")


def is_tail_call(architecture: str, instructions: list[Raw], index: int, backward: Backward) -> bool:
    """Whether an indirect jump whose target is unknown is surely a call through a pointer, not a switch.

    True where the address was loaded without an index (a field, a slot, a stack place) or came in as an
    argument: a jump table is always indexed.
    """
    operand = instructions[index][3]
    if architecture in ("x86_64", "i386"):
        memory = tables_x86.parse_memory(operand)
        if memory is not None:
            return memory.scaled is None
        return _loaded_plainly(instructions, index, backward, tables_x86.family, tables_x86.family(operand))
    if architecture == "aarch64":
        return _loaded_plainly(
            instructions, index, backward, tables_arm64.register, tables_arm64.register(operand)
        )
    return False


def _loaded_plainly(
    instructions: list[Raw],
    index: int,
    backward: Backward,
    family: Callable[[str], str | None],
    wanted: str | None,
) -> bool:
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
            if any(base in source for base in _FRAME_BASES):
                # Spilled code addresses are computed gotos as often as they are function pointers.
                return False
            memory = tables_x86.parse_memory(source) if "ptr" in source else None
            return memory.scaled is None if memory is not None else source.count(", ") < 1 or "#" in source
        return False
    # The function's entry was reached: the pointer is an argument.
    return True
