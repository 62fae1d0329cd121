"""Which operands hold addresses, and what lies there: what the tokens say instead of a number.

A number that is an address changes with every link; "read-only data" does not. x86-64 names addresses
relative to ``rip``; AArch64 builds them from ``adrp`` and a low part; files with a fixed base hold them as
plain immediates.
"""

from __future__ import annotations

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.operands import Raw
from weft.bcsd.disassemble.interface import Reference, ReferenceKind
from weft.bcsd.read.image import Image


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
    taken: list[int] = []
    for index, address in architecture_named(image.architecture).addresses(image, instructions):
        if not start <= address < end:
            taken.append(address)
        if index in references:
            continue
        # Whatever lies there, an address is no number: it must not reach the constant slot.
        references[index] = Reference(classify(image, address) or ReferenceKind.UNMAPPED, address)
    return taken
