"""Where code stands in a segment that holds constants around it: as far as its own calls and jumps lead.

From what is surely code on: a stretch is decoded, what it calls and jumps to is code as well, and so is all before it,
until nothing leads further. It takes a processor whose calls name what they call, and without constants among the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.bcsd.architectures.architecture import TERMINAL, Architecture, FlowKind
from weft.bcsd.architectures.operands import Raw
from weft.bcsd.read.image import Image, Region

#: Bytes of a function of which only the start is known, at most; and those decoded at once.
_LONGEST, _STEP = 1 << 20, 1 << 12
#: Bytes of a start within which ``main`` is named.
_START = 256
#: Bytes behind the code within which another function sets its frame up, and those within which it does.
_AHEAD, _ENTRY = 512, 32
_JUMPS = (FlowKind.JUMP, FlowKind.BRANCH)


def reach_of_calls(
    image: Image,
    architecture: Architecture,
    region: Region,
    entry: int,
    starts: Iterable[int],
    ends: Iterable[int],
) -> tuple[int, int] | None:
    """Where the code of a region begins and ends, or None where the program does not begin in it.

    Args:
        image: The file.
        architecture: Its processor.
        region: Holds the code, and constants in front of it and behind it.
        entry: Where the program begins; a library begins nowhere, and what calls it is not known.
        starts: First addresses of functions.
        ends: First addresses behind what is known to be code.
    """
    low, high = region.start, region.end
    if not low <= entry < high:
        return None
    begun = {place for place in starts if low <= place < high}
    begun |= {entry, *_taken(image, architecture, entry, low, high)}
    known = [place for place in ends if low < place <= high]
    first = min(begun | {start for start, _ in image.stub_ranges if low <= start < high})
    done = low
    reached = max([*known, *(_end_of(image, architecture, place, high) for place in begun)])
    while done < reached:
        led = [to for to in _led_to(image, architecture, done, reached) if low <= to < high]
        first, furthest = min([first, *led]), max([low, *led])
        done = reached
        if furthest >= reached:
            reached = _end_of(image, architecture, furthest, high)
        if done == reached:
            reached = _with_more(image, architecture, reached, high)
    return first, reached


def _taken(image: Image, architecture: Architecture, entry: int, low: int, high: int) -> list[int]:
    """What the code at the entry point takes the address of, or reads it from a pointer: ``main``."""
    end = min(_end_of(image, architecture, entry, high), entry + _START)
    lines = list(_decoded(image, architecture, entry, end))
    places = [place for _, place in architecture.addresses(image, lines)]
    places += [image.pointers[place] for place in places if place in image.pointers]
    return [place for place in places if low <= place < high and place % architecture.step == 0]


def _decoded(image: Image, architecture: Architecture, start: int, end: int) -> Iterator[Raw]:
    """Instructions of ``[start, end)``; what is none is stepped over."""
    decoder = architecture.decoder(image, start)
    code = image.code_at(start, end)
    reached = start
    while reached < start + len(code):
        for line in decoder.disasm_lite(code[reached - start :], reached):
            reached = line[0] + line[1]
            yield line
        reached += architecture.step


def _led_to(image: Image, architecture: Architecture, start: int, end: int) -> Iterator[int]:
    """Where direct calls and jumps in ``[start, end)`` lead."""
    lines: list[Raw] = []
    for line in _decoded(image, architecture, start, end):
        lines = [*lines[-1:], line]
        if architecture.plain[line[2]]:
            continue
        kind, target = architecture.flow_at(line[0], line[2], line[3])
        if kind == FlowKind.INDIRECT_CALL:
            target = architecture.called(image, lines, len(lines) - 1).address
        if target is not None and target % architecture.step == 0:
            yield target


def _end_of(image: Image, architecture: Architecture, start: int, high: int) -> int:
    """Where control cannot go on from a start; the start itself where what stands there is no code."""
    furthest = position = start
    limit = min(high, start + _LONGEST)
    decoder = architecture.decoder(image, start)
    while position < limit:
        begun = position
        for address, size, mnemonic, operands in decoder.disasm_lite(
            image.code_at(position, min(position + _STEP, limit)), position
        ):
            position = address + size
            if architecture.plain[mnemonic]:
                continue
            kind, target = architecture.flow_at(address, mnemonic, operands)
            if target is not None and image.code_map.at(target) is None:
                return start
            if kind in _JUMPS and target is not None and furthest < target < min(limit, address + _STEP):
                furthest = target
            if kind in TERMINAL and position > furthest:
                return position
        if position == begun:
            return start
    return start


def _with_more(image: Image, architecture: Architecture, reached: int, high: int) -> int:
    """The end of code with the functions right behind it that pointers alone lead to.

    One of a few in a row has to set a frame up, as no constants do but by chance.
    """
    position = reached
    while position < min(high, reached + _AHEAD):
        for address, size, mnemonic, operands in _decoded(
            image, architecture, position, min(position + _ENTRY, high)
        ):
            if address != position or not architecture.is_padding(mnemonic, operands):
                break
            position = address + size
        end = _end_of(image, architecture, position, high)
        if end == position:
            break
        if _enters(image, architecture, position, end):
            reached = end
        position = end
    return reached


def _enters(image: Image, architecture: Architecture, start: int, end: int) -> bool:
    """Whether one of the first instructions sets a frame up."""
    return any(
        architecture.is_entry(image, image.code_at(line[0], line[0] + 8), mode=False)
        for line in _decoded(image, architecture, start, min(start + _ENTRY, end))
    )
