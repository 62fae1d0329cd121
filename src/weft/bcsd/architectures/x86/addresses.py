"""Which x86 operands hold addresses: relative to ``rip``, and plain ones in files with a fixed base."""

from __future__ import annotations

from weft.bcsd.architectures.operands import Raw, immediate
from weft.bcsd.architectures.x86.registers import parse_memory
from weft.bcsd.read.image import Image

# Below this a number in a fixed-base file is a size or a flag more often than an address.
_LOWEST_ADDRESS = 0x10000


def relative_to_instruction(instructions: list[Raw]) -> list[tuple[int, int]]:
    """Index and address of every operand ``[rip + displacement]``."""
    found: list[tuple[int, int]] = []
    for index, (address, size, _, operands) in enumerate(instructions):
        if "[rip" not in operands:
            continue
        memory = parse_memory(operands)
        if memory is not None:
            found.append((index, address + size + memory.displacement))
    return found


def absolute(image: Image, instructions: list[Raw]) -> list[tuple[int, int]]:
    """Index and address of every plain number that is one: for files whose base is fixed."""
    found: list[tuple[int, int]] = []
    for index, (_, _, mnemonic, operands) in enumerate(instructions):
        # A mapped address has at least five hex digits.
        if "0x" not in operands or mnemonic[0] == "j" or mnemonic == "call":
            continue
        last = operands.rpartition(", ")[2]
        value = immediate(last)
        if value is None and "[" in operands:
            memory = parse_memory(operands)
            value = memory.displacement if memory is not None and memory.base != "rip" else None
        if value is not None and value >= _LOWEST_ADDRESS and image.data_map.at(value) is not None:
            found.append((index, value))
    return found
