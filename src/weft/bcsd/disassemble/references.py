"""Which operands hold addresses, and what lies there: what the tokens say instead of a number.

A number that is an address changes with every link; "read-only data" does not. x86-64 names addresses
relative to ``rip``; AArch64 builds them from ``adrp`` and a low part; files with a fixed base hold them as
plain immediates.
"""

from __future__ import annotations

from weft.bcsd.disassemble.interface import Reference, ReferenceKind
from weft.bcsd.disassemble.isa.architecture import immediate
from weft.bcsd.disassemble.jump_tables import tables_arm64, tables_x86
from weft.bcsd.read.image import Image

Raw = tuple[int, int, str, str]

# Below this a number in a fixed-base file is a size or a flag more often than an address.
_LOWEST_ADDRESS = 0x10000


def classify(image: Image, address: int) -> ReferenceKind | None:
    """What lies at an address; None where nothing is mapped."""
    if address in image.slots:
        return ReferenceKind.SLOT
    if image.code_map.at(address) is not None:
        return ReferenceKind.CODE
    region = image.data_map.at(address)
    if region is None:
        return None
    return ReferenceKind.DATA_WRITABLE if region.writable else ReferenceKind.DATA_CONSTANT


def data_references(
    image: Image, instructions: list[Raw], references: dict[int, Reference], start: int, end: int
) -> list[int]:
    """Add to ``references`` every instruction whose operand is an address, calls and jumps left alone.

    Returns:
        The addresses outside ``[start, end)`` that the function computes.
    """
    if image.architecture == "aarch64":
        found = _arm64(instructions)
    elif image.architecture == "x86_64":
        found = _relative_to_instruction(instructions)
        if image.fixed_base:
            found += _absolute(image, instructions)
    elif image.architecture == "i386" and image.fixed_base:
        found = _absolute(image, instructions)
    else:
        found = []
    taken: list[int] = []
    for index, address in found:
        if not start <= address < end:
            taken.append(address)
        if index in references:
            continue
        # Whatever lies there, an address is no number: it must not reach the constant slot.
        references[index] = Reference(classify(image, address) or ReferenceKind.UNMAPPED, address)
    return taken


def _relative_to_instruction(instructions: list[Raw]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for index, (address, size, _, operands) in enumerate(instructions):
        if "[rip" not in operands:
            continue
        memory = tables_x86.parse_memory(operands)
        if memory is not None:
            found.append((index, address + size + memory.displacement))
    return found


def _absolute(image: Image, instructions: list[Raw]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for index, (_, _, mnemonic, operands) in enumerate(instructions):
        # A mapped address has at least five hex digits.
        if "0x" not in operands or mnemonic[0] == "j" or mnemonic == "call":
            continue
        last = operands.rpartition(", ")[2]
        value = immediate(last)
        if value is None and "[" in operands:
            memory = tables_x86.parse_memory(operands)
            value = memory.displacement if memory is not None and memory.base != "rip" else None
        if value is not None and value >= _LOWEST_ADDRESS and image.data_map.at(value) is not None:
            found.append((index, value))
    return found


_PAGE_USERS = ("add", "ld", "st", "pr")


def _arm64(instructions: list[Raw]) -> list[tuple[int, int]]:
    """Follow each register that holds a page, in address order, until it is written again."""
    found: list[tuple[int, int]] = []
    pages: dict[str, int] = {}
    for index, (_, _, mnemonic, operands) in enumerate(instructions):
        if mnemonic in ("adrp", "adr"):
            name, _, number = operands.partition(", ")
            value = immediate(number)
            if value is None:
                continue
            if mnemonic == "adrp":
                pages[name] = value
            else:
                pages.pop(name, None)
            found.append((index, value))
        elif not pages:
            if mnemonic.startswith("ldr") and ", #" in operands and "[" not in operands:
                _literal(found, index, operands)
        elif mnemonic.startswith(_PAGE_USERS):
            _page_use(found, pages, index, mnemonic, operands)
        else:
            pages.pop("x" + operands.partition(", ")[0][1:], None)
    return found


def _literal(found: list[tuple[int, int]], index: int, operands: str) -> None:
    value = immediate(operands.rpartition(", ")[2])
    if value is not None:
        found.append((index, value))


def _page_use(
    found: list[tuple[int, int]], pages: dict[str, int], index: int, mnemonic: str, operands: str
) -> None:
    parts = tables_arm64.split_operands(operands)
    memory = next((part for part in parts if part.startswith("[")), None)
    if memory is not None:
        base, _, offset = memory.strip("[]!").partition(", ")
        low = immediate(offset) if offset else 0
    elif mnemonic == "add" and len(parts) == 3:
        base, low = parts[1], immediate(parts[2])
    else:
        base, low = "", None
        if mnemonic.startswith("ldr") and len(parts) == 2:
            _literal(found, index, operands)
    page = pages.get(base)
    if page is not None and low is not None:
        found.append((index, page + low))
    if not mnemonic.startswith("st"):
        for part in parts[:2] if mnemonic.startswith("ldp") else parts[:1]:
            pages.pop("x" + part[1:], None)
