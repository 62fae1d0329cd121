"""Import stubs of ARM files."""

from __future__ import annotations

from weft.bcsd.read.image import Image, Region, unpack_words


def arm_stubs(image: Image, region: Region) -> dict[int, str]:
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
