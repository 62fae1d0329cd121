"""What the functions in question compute, worked out beside their file: in a bounded process, one for each file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from weft.bcsd.architectures import architecture_named
from weft.bcsd.difference.content import Reader
from weft.bcsd.difference.outline import Outline, Outliner
from weft.bcsd.difference.told.spelling import UNKNOWN, Named
from weft.bcsd.lift.apart.bounded import BoundedLifter
from weft.bcsd.lift.apart.wire import unpack_code
from weft.bcsd.lift.gather import surroundings_of
from weft.bcsd.lift.solve.computation import Computation
from weft.bcsd.lift.solve.fixed import BIAS
from weft.bcsd.read import open_image

_LOWEST_ADDRESS = 0x10000
#: Tables of addresses on MIPS hold those that are multiples of this, for all that is read near them.
_PAGE = 1 << 16
#: How far behind the start of a known variable an address still counts as inside it.
_INSIDE = 4096


class OutlineRequest(NamedTuple):
    """What to work out.

    Args:
        path: The binary.
        codes: The functions in question, as they were packed.
        names: Address → what it is called in both files: functions and variables that were found to be the same.
        shown: Address → what a person reads.
    """

    path: str
    codes: tuple[bytes, ...]
    names: Mapping[int, str]
    shown: Mapping[int, str]

    def __str__(self) -> str:
        return self.path


def outlines(request: OutlineRequest) -> list[Outline | None]:
    """The outline of each function; None where it, or an instruction of it, cannot be lifted.

    Raises:
        InputError: The file cannot be read any more.
    """
    image = open_image(request.path)
    around = surroundings_of(image, held=True)
    reader, bounded = Reader(image), BoundedLifter(around)
    known = sorted(request.names)
    bias = BIAS[around.word]

    #: What other addresses are counted from, not what lies there.
    pages = {held for held in around.held.values() if not held % _PAGE}
    beyond = architecture_named(image.architecture).global_pointer
    unmapped = {*pages, *(start + beyond for start, _ in image.offset_tables)}

    def address_of(value: int) -> int | None:
        # The first address behind a variable, and what the table of addresses is reached by, are addresses too.
        if around.maps(value - bias) or around.maps(value - bias - 1) or value - bias in unmapped:
            return value - bias
        return value if around.fixed_base and value >= _LOWEST_ADDRESS and around.maps(value) else None

    def is_code(address: int) -> bool:
        return image.code_map.at(address) is not None

    def name(address: int) -> Named:
        if address - bias in request.names or address_of(address) == address - bias:
            address -= bias
        pointee = reader.pointee(address)
        for place in (address, pointee):
            if place is not None and place in request.names:
                return Named(request.names[place], request.shown.get(place, hex(place)))
        said = "" if address in pages else reader.named(address)
        if said:
            return Named(said, said.removeprefix("import "))
        before = None if address in pages else _last(known, address)
        if before is not None and address - before <= _INSIDE and is_code(before) == is_code(address):
            token = f"{request.names[before]}+{address - before}"
            return Named(token, f"{request.shown.get(before, hex(before))}+{address - before:#x}")
        return Named(UNKNOWN, UNKNOWN)

    found: list[Outline | None] = []
    for packed in request.codes:
        computed: Computation | None = bounded.compute(unpack_code(packed))
        # An instruction that the lifter does not know may be the very one that changed.
        if computed is None or computed.opaque:
            found.append(None)
        else:
            outliner = Outliner(computed, address_of, name, reader.read, big_endian=around.big_endian)
            found.append(outliner.outline())
    return found


def _last(ordered: list[int], address: int) -> int | None:
    place = bisect_right(ordered, address) - 1
    return ordered[place] if place >= 0 else None
