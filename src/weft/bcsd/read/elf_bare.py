"""What section headers would say of an ELF file that has none: which code is import stubs, and where code ends.

Linkers of GNU lay out ``headers, tables, .init, .plt, .text, .fini, .rodata, .eh_frame`` in that order, on many
processors in one segment that is executable.
"""

from __future__ import annotations

from dataclasses import replace

from weft.bcsd.architectures.architecture import Architecture
from weft.bcsd.read.elf_view import View
from weft.bcsd.read.image import Image, Region, UnwindRange

#: Bytes of an entry, by architecture; 16 on the others.
_ENTRY = {"arm": 12}
_X86 = ("x86_64", "i386")
#: How an entry of x86 begins: a jump through a slot, alone or behind what marks the target of an indirect jump.
_JUMPS = (b"\xff\x25", b"\xff\xa3", b"\xf2\xff\x25", b"\xf3\x0f\x1e")
#: How the entry that they share begins, which stands in front of them.
_SHARED = (b"\xff\x35", b"\xff\xb3")
_INTERPRETER, _NOTE = 3, 4
#: Tags of the dynamic section: tables with the tag of their size, and tables whose size it does not say.
_SIZED = ((5, 10), (7, 8), (17, 18), (23, 2))
_UNSIZED = (4, 6, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFE)
_INIT, _FINI = 12, 13
#: Bytes of ``.fini``, by architecture; at most 36 on the others.
_LAST = {"aarch64": 20, "arm": 8}
#: ``bx pc``, by which Thumb enters the stub that stands behind it and two more bytes.
_FROM_THUMB = b"\x78\x47"


def find_stubs(image: Image, architecture: Architecture) -> None:
    """Note the entries that jump through a slot which the loader fills: what calls them calls another file."""
    length = _ENTRY.get(image.architecture, 16)
    for region in image.code:
        for start, name in architecture.stubs(image, region).items():
            if image.architecture not in _X86 or image.code_at(start, start + 4).startswith(_JUMPS):
                entered = image.architecture == "arm" and image.code_at(start - 4, start - 2) == _FROM_THUMB
                image.stubs[start] = name
                image.stub_ranges.append((start - 4 if entered else start, start + length))


def without_stubs(image: Image, ranges: list[UnwindRange]) -> list[UnwindRange]:
    """Unwind ranges without those that a linker writes for its stubs: all of such a range is stubs.

    A function that is a mere jump through a slot has a range of its own, which ends where it does.
    """
    if image.architecture not in _X86:
        return ranges
    kept: list[UnwindRange] = []
    for found in ranges:
        shared = image.code_at(found.start, found.start + 2) in _SHARED and found.start + 16 in image.stubs
        whole = (found.end - found.start) % 8 == 0
        if shared or (whole and found.start in image.stubs):
            outside = [place for place in image.stub_ranges if not found.start <= place[0] < found.end]
            image.stub_ranges = [*outside, (found.start, found.end)]
            continue
        if image.stubs.pop(found.start, None) is not None:
            image.stub_ranges = [place for place in image.stub_ranges if place[0] != found.start]
        kept.append(found)
    return kept


def without_tables(image: Image, view: View, architecture: Architecture) -> Image:
    """The image with what lies in front of its code and behind it taken for data, where a segment holds all of it.

    Code ends behind ``.fini``, or where the last unwind range does, on processors whose compilers write one for all.
    """
    tags = view.tags
    known = [tags.get(_INIT, 0), *image.stubs, *(found.start for found in image.unwind)]
    ends = [*(end for _, end in image.stub_ranges), *(found.end for found in image.unwind)]
    fini = tags.get(_FINI, 0)
    ends.append(fini + _LAST.get(image.architecture, 36))
    tables = [(s.address, s.address + s.file_size) for s in view.segments if s.type in (_INTERPRETER, _NOTE)]
    tables += [(tags[tag], tags[tag] + tags.get(size, 0)) for tag, size in _SIZED if tags.get(tag)]
    tables += [(tags[tag], tags[tag] + 1) for tag in _UNSIZED if tags.get(tag)]
    code: list[Region] = []
    for region in image.code:
        low, high = region.start, region.end
        first = min((place for place in known if low <= place < high and place), default=low)
        last = max((place for place in ends if low < place <= high), default=high)
        low = max([low, *(end for start, end in tables if low <= start and end <= first)])
        covered = not architecture.lacks_unwinding and any(low < f.end <= high for f in image.unwind)
        if low > region.start and (low <= fini < high or covered):
            high = last
        data = region.data[low - region.start : high - region.start]
        code.append(replace(region, start=low, data=data, size=len(data)))
    cut = replace(image, code=code)
    cut.entries = [place for place in cut.entries if cut.code_map.at(place) is not None]
    cut.symbols = [symbol for symbol in cut.symbols if cut.code_map.at(symbol.address) is not None]
    return cut
