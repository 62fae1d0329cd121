"""Import stubs of AArch64 files."""

from __future__ import annotations

from weft.bcsd.read.image import Image, Region, unpack_words


def arm64_stubs(image: Image, region: Region) -> dict[int, str]:
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
