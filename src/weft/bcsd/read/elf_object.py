"""ELF objects and kernel modules: their sections are laid out and their relocations filled in, as a linker would.

What the object does not define lies behind its last section: a stub for each name, and a slot for each name that
is reached through a pointer.
"""

from __future__ import annotations

import lief

from weft.bcsd.architectures.architecture import Architecture
from weft.bcsd.read.image import Image, Region
from weft.bcsd.read.names import printable

#: Where the first section goes: numbers below it are seldom addresses.
_BASE = 0x400000
_ALIGNMENT = 64
_STUB = 16
_UNDEFINED, _COMMON = 0, 0xFFF2
#: lief puts the machine above the relocation's own number.
_KIND = (1 << 27) - 1


class Layout:
    """Sections with addresses.

    Args:
        binary: As lief read it.
        content: The file's bytes.
    """

    def __init__(self, binary: lief.ELF.Binary, content: memoryview) -> None:
        self.regions: list[Region] = []
        self.start: dict[int, int] = {}
        self.bytes: dict[int, bytearray] = {}
        flags = lief.ELF.Section.FLAGS
        address = _BASE
        for number, section in enumerate(binary.sections):
            if not section.has(flags.ALLOC) or section.size == 0:
                continue
            empty = section.type == lief.ELF.Section.TYPE.NOBITS
            begin = section.file_offset
            data = bytearray() if empty else bytearray(content[begin : begin + section.size])
            self.start[number], self.bytes[number] = address, data
            size = max(len(data), section.size if empty else 0)
            executable, writable = section.has(flags.EXECINSTR), section.has(flags.WRITE)
            name = printable(section.name)
            self.regions.append(Region(name, address, memoryview(data), size, executable, writable))
            address = -(-(address + max(size, 1)) // _ALIGNMENT) * _ALIGNMENT
        self.end = address

    def address_of(self, section: int, value: int) -> int | None:
        """The address of a symbol of a section, None where the section is not loaded."""
        start = self.start.get(section)
        return None if start is None else start + value


def fill_in(binary: lief.ELF.Binary, layout: Layout, image: Image, architecture: Architecture) -> None:
    """Write every relocation that is known into the sections' bytes.

    Args:
        binary: As lief read it.
        layout: Its sections with addresses.
        image: Gets a stub for each undefined name, and the slots.
        architecture: Knows the kinds of relocations; those that it does not list (offsets from a table that the
            linker makes) leave the bytes as they are.
    """
    place_of = {section.file_offset: n for n, section in enumerate(binary.sections) if n in layout.bytes}
    outside: dict[str, int] = {}
    slots: dict[tuple[str, int], int] = {}
    free = layout.end
    for relocation in binary.object_relocations:
        section = relocation.section
        number = None if section is None else place_of.get(section.file_offset)
        kind = architecture.relocations.get(int(relocation.type) & _KIND)
        symbol = relocation.symbol
        if number is None or symbol is None or kind is None:
            continue
        name = printable(symbol.name)
        target = layout.address_of(symbol.shndx, symbol.value & ~architecture.mode_bit)
        if target is None:
            if symbol.shndx not in (_UNDEFINED, _COMMON) or not name:
                continue
            if name not in outside:
                outside[name] = free
                free += _STUB
            target = outside[name]
        if kind.needs_slot:
            key = (name, target)
            if key not in slots:
                slots[key] = free
                free += _STUB
            target = slots[key]
        data = layout.bytes[number]
        at = relocation.address
        addend = relocation.addend if relocation.is_rela else None
        place = layout.start[number] + at
        field = kind.apply(
            bytes(data[at : at + kind.size]), target, addend, place, big_endian=image.big_endian
        )
        if field is not None:
            data[at : at + kind.size] = field
    image.stubs.update({address: name for name, address in outside.items()})
    image.slots.update({address: name for (name, _), address in slots.items()})
    for (_, target), address in slots.items():
        if target < layout.end:
            image.pointers[address] = target
    image.stub_ranges.append((layout.end, free))
    image.data.append(Region("", layout.end, memoryview(b""), free - layout.end, False, True))
