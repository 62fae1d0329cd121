"""Import stubs of x86 files."""

from __future__ import annotations

from weft.bcsd.read.image import Image, Region

#: How an entry begins: a jump through a slot, alone or behind what marks the target of an indirect jump.
_JUMPS = (b"\xff\x25", b"\xff\xa3", b"\xf2\xff\x25", b"\xf3\x0f\x1e")
#: How the entry that they share begins, which stands in front of them.
_SHARED = (b"\xff\x35", b"\xff\xb3")


def x86_stub_place(image: Image, start: int) -> tuple[int, int] | None:
    """See ``Architecture.stub_place``."""
    return (start, start + 16) if image.code_at(start, start + 4).startswith(_JUMPS) else None


def x86_begins_stubs(image: Image, start: int, end: int) -> bool:
    """See ``Architecture.begins_stubs``; a function that is a mere jump through a slot has a range that ends there."""
    if start in image.stubs:
        return (end - start) % 8 == 0
    return image.code_at(start, start + 2) in _SHARED and start + 16 in image.stubs


def x86_stubs(image: Image, region: Region) -> dict[int, str]:
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
