"""Import stubs: which symbol each PLT entry jumps to.

An entry loads a pointer from a slot that the loader fills and jumps to it. The slot's address is computed
from the entry's bytes; its relocation names the symbol.
"""

from __future__ import annotations

from weft.bcsd.read.image import Image, Region, unpack_words


def read_stubs(image: Image, region: Region) -> dict[int, str]:
    """Map each entry's address in ``region`` to the name of what it calls."""
    readers = {"x86_64": _x86_stubs, "i386": _x86_stubs, "aarch64": _arm64_stubs, "arm": _arm_stubs}
    reader = readers.get(image.architecture)
    return reader(image, region) if reader is not None else {}


def _x86_stubs(image: Image, region: Region) -> dict[int, str]:
    """``[endbr64] [bnd] jmp [slot]`` in entries of 16 bytes (8 in ``.plt.got``)."""
    stubs: dict[int, str] = {}
    data = bytes(region.data)
    global_offset_table = _got_base(image)
    for opcode in (b"\xff\x25", b"\xff\xa3"):
        position = data.find(opcode)
        while position >= 0:
            displacement = int.from_bytes(data[position + 2 : position + 6], "little", signed=True)
            if image.architecture == "x86_64":
                slot = region.start + position + 6 + displacement
            elif opcode == b"\xff\xa3":
                slot = global_offset_table + displacement
            else:
                slot = displacement & 0xFFFFFFFF
            name = image.slots.get(slot)
            if name is not None:
                # The entry's alignment absorbs an endbr64 or bnd prefix in front of the jump.
                stubs[region.start + (position & ~7 if position & 15 >= 8 else position & ~15)] = name
                position = data.find(opcode, position + 6)
            else:
                position = data.find(opcode, position + 1)
    return stubs


def _got_base(image: Image) -> int:
    """The address that ebx holds in position-independent i386 code: three pointers before the first slot."""
    jump_slots = sorted(image.slots)
    return jump_slots[0] - 12 if image.architecture == "i386" and jump_slots else 0


def _arm64_stubs(image: Image, region: Region) -> dict[int, str]:
    """``[bti c] adrp x16, page; ldr x17, [x16, offset]; …``."""
    stubs: dict[int, str] = {}
    words = unpack_words(bytes(region.data), 4, signed=False, big_endian=False)
    for index in range(len(words) - 1):
        adrp, load = words[index], words[index + 1]
        if adrp & 0x9F00001F != 0x90000010 or load & 0xFFC003FF != 0xF9400211:
            continue
        address = region.start + 4 * index
        pages = ((adrp >> 5) & 0x7FFFF) << 2 | (adrp >> 29) & 3
        pages -= (pages & 0x100000) << 1
        slot = (address & ~0xFFF) + (pages << 12) + ((load >> 10) & 0xFFF) * 8
        name = image.slots.get(slot)
        if name is not None:
            preceded = index > 0 and words[index - 1] == 0xD503245F
            stubs[address - 4 if preceded else address] = name
    return stubs


def _arm_stubs(image: Image, region: Region) -> dict[int, str]:
    """``add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]!``."""
    stubs: dict[int, str] = {}
    words = unpack_words(bytes(region.data), 4, signed=False, big_endian=image.big_endian)
    for index in range(len(words) - 2):
        first, second, load = words[index : index + 3]
        if first >> 12 != 0xE28FC or second >> 12 != 0xE28CC or load >> 12 != 0xE5BCF:
            continue
        address = region.start + 4 * index
        slot = address + 8 + _arm_immediate(first) + _arm_immediate(second) + (load & 0xFFF)
        name = image.slots.get(slot & 0xFFFFFFFF)
        if name is not None:
            stubs[address] = name
    return stubs


def _arm_immediate(word: int) -> int:
    rotation = (word >> 8 & 15) * 2
    value = word & 0xFF
    return ((value >> rotation) | (value << (32 - rotation))) & 0xFFFFFFFF if rotation else value
