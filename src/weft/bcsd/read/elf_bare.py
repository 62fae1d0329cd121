"""What section headers would say of an ELF file that has none: which code is import stubs, and where code ends.

Linkers of GNU lay out ``headers, tables, .init, .plt, .text, .fini, .rodata, .eh_frame`` in that order, on many
processors in one segment that is executable.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace

from weft.bcsd.architectures.architecture import Architecture
from weft.bcsd.read.elf_end import reach_of_calls
from weft.bcsd.read.elf_view import PROGRAM, View
from weft.bcsd.read.image import Image, Region, UnwindRange

_INTERPRETER, _NOTE = 3, 4
#: Tags of the dynamic section: tables with the tag of their size, and tables whose size it does not say.
_SIZED = ((5, 10), (7, 8), (17, 18), (23, 2))
_UNSIZED = (4, 6, 0x6FFFFEF5, 0x6FFFFFF0, 0x6FFFFFFE)
_INIT, _FINI, _LIBRARY_NAME, _FLAGS = 12, 13, 14, 0x6FFFFFFB
#: ``DF_1_PIE`` of ``DT_FLAGS_1``.
_MOVABLE_PROGRAM = 0x08000000
#: Tags of the place and the size of the tables of constructors, and of destructors.
ARRAYS = ((25, 27), (26, 28))
#: Share of the code that lies in unwind ranges where these are of nearly all functions.
_MOST = 0.8
#: What a segment begins with that holds more than code.
_HEADER = b"\x7fELF"
_ENDLESS = (
    "it has no table of sections, and no other tells where its code ends: "
    "constants behind it may be taken for functions"
)
_BY_CALLS = (
    "it has no table of sections: its code is taken to end where its calls lead no further, and functions behind that, "
    "which pointers alone lead to, are not found"
)


def array_entries(view: View, image: Image, array: tuple[int, int]) -> list[int]:
    """What the loader calls before the program, or after it: the pointers of one of :data:`ARRAYS`, 0 among them."""
    start, size = (view.tags.get(tag, 0) for tag in array)
    return [image.pointer(start + at) or 0 for at in range(0, min(size, 1 << 16), image.pointer_size)]


def find_stubs(image: Image, architecture: Architecture) -> None:
    """Note the entries that jump through a slot which the loader fills: what calls them calls another file."""
    for region in image.code:
        for start, name in architecture.stubs(image, region).items():
            place = architecture.stub_place(image, start)
            if place is not None:
                image.stubs[start] = name
                image.stub_ranges.append(place)


def without_stubs(image: Image, ranges: list[UnwindRange], architecture: Architecture) -> list[UnwindRange]:
    """Unwind ranges without those that a linker writes for its stubs: all of such a range is stubs."""
    kept: list[UnwindRange] = []
    whole: list[tuple[int, int]] = []
    alone: set[int] = set()
    for found in ranges:
        if architecture.begins_stubs(image, found.start, found.end):
            whole.append((found.start, found.end))
            continue
        if image.stubs.pop(found.start, None) is not None:
            alone.add(found.start)
        kept.append(found)
    # No range holds another: which one holds an address is looked for by bisection.
    single = [place for place in image.stub_ranges if place[0] not in alone]
    starts = [start for start, _ in sorted(whole)]
    ends = [end for _, end in sorted(whole)]
    outside = (place for place in single if not _holds(starts, ends, place[0]))
    image.stub_ranges = [*whole, *outside]
    return kept


def _holds(starts: list[int], ends: list[int], address: int) -> bool:
    at = bisect_right(starts, address) - 1
    return at >= 0 and address < ends[at]


def without_tables(image: Image, view: View, architecture: Architecture) -> Image:
    """The image with what lies in front of its code and behind it taken for data, where a segment holds all of it.

    Code ends behind ``.fini``, or where the last unwind range does, where there is one for all functions or nearly; or,
    where a processor's calls name what they call, as far as these lead.
    """
    tags = view.tags
    known = [tags.get(_INIT, 0), *image.stubs, *(found.start for found in image.unwind)]
    ends = [*(end for _, end in image.stub_ranges), *(found.end for found in image.unwind)]
    starts = [entry for array in ARRAYS for entry in array_entries(view, image, array)]
    starts += [*(symbol.address for symbol in image.symbols)]
    fini = tags.get(_FINI, 0)
    ends.append(fini + architecture.fini_size)
    tables = [(s.address, s.address + s.file_size) for s in view.segments if s.type in (_INTERPRETER, _NOTE)]
    tables += [(tags[tag], tags[tag] + tags.get(size, 0)) for tag, size in _SIZED if tags.get(tag)]
    tables += [(tags[tag], tags[tag] + 1) for tag in _UNSIZED if tags.get(tag)]
    code: list[Region] = []
    endless = False
    for region in image.code:
        low, high = region.start, region.end
        first = min((place for place in known if low <= place < high and place), default=low)
        last = max((place for place in ends if low < place <= high), default=high)
        low = max([low, *(end for start, end in tables if low <= start and end <= first)])
        covered = _covered(image, low, high, architecture)
        own = replace(region, start=low, data=region.data[low - region.start :], size=high - low)
        called = None
        if architecture.names_callees and bytes(region.data[: len(_HEADER)]) == _HEADER:
            # Few of its functions may be in the unwind table, and those its first ones.
            called = reach_of_calls(image, architecture, own, _entry(view), starts, ends[:-1])
        if called is not None:
            low, high = called
            image.remarks.append(_BY_CALLS)
        elif low > region.start and (low <= fini < high or covered):
            high = last
        elif architecture.lacks_unwinding and bytes(region.data[: len(_HEADER)]) == _HEADER:
            endless = True
        data = region.data[low - region.start : high - region.start]
        code.append(replace(region, start=low, data=data, size=len(data)))
    if endless:
        image.remarks.append(_ENDLESS)
    cut = replace(image, code=code)
    cut.entries = [place for place in cut.entries if cut.code_map.at(place) is not None]
    cut.symbols = [symbol for symbol in cut.symbols if cut.code_map.at(symbol.address) is not None]
    return cut


def _entry(view: View) -> int:
    """Where a program begins; 0 of a library, whose entry means nothing even where it has one."""
    interpreted = any(segment.type == _INTERPRETER for segment in view.segments)
    alone = interpreted or view.tags.get(_FLAGS, 0) & _MOVABLE_PROGRAM
    program = view.type == PROGRAM or (alone and _LIBRARY_NAME not in view.tags)
    return view.entry if program else 0


def _covered(image: Image, low: int, high: int, architecture: Architecture) -> bool:
    """Whether unwind ranges tell where the code in ``[low, high)`` ends.

    On processors whose compilers need not write them, they do where most of the code from the first to the last is in
    one: what stands behind them is constants, which a search for functions would take for code.
    """
    within = [found for found in image.unwind if low <= found.start < found.end <= high]
    if not architecture.lacks_unwinding or not within:
        return bool(within)
    span = max(found.end for found in within) - min(found.start for found in within)
    return sum(found.end - found.start for found in within) >= _MOST * span
