"""Starts that no symbol of a function names: labels without a type, and those that only an unwind table has.

Assembly often names a function without saying that it is one. But a label may also stand within a function, or mark
the end of the code. Of neither kind a table says the mode.
"""

from __future__ import annotations

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.architecture import Architecture
from weft.bcsd.disassemble.bounds import Bounds, Frontier
from weft.bcsd.disassemble.extent import Surveyor
from weft.bcsd.disassemble.gaps import decoded, modes_at
from weft.bcsd.read.image import Image


def without_inner(known: list[Bounds], surveyor: Surveyor) -> list[Bounds]:
    """The bounds without the labels that stand in a function or before mere padding.

    The modes of labels, and of starts without a name, are noted in the image.

    Args:
        known: Sorted by address.
        surveyor: Tells how far functions reach whose size no table has.
    """
    labels = [bounds.start for bounds in known if bounds.label]
    image = surveyor.around.image
    architecture = architecture_named(image.architecture)
    if architecture.mode_bit:
        _note_modes(known, image, architecture)
    if not labels:
        return known
    others = [bounds for bounds in known if not _is_open(bounds) or not bounds.label]
    frontier = Frontier(image, others)
    for bounds in filter(_is_open, others):
        end = surveyor.survey(bounds.start, frontier.limit(bounds.start)).end
        frontier.close(bounds.start, max(end, bounds.start + architecture.step))
    for start in labels:
        frontier.add(start)
    outer: set[int] = set()
    while (start := frontier.take()) is not None:
        if _holds_code(image, architecture, start, frontier.limit(start)):
            outer.add(start)
    return [bounds for bounds in known if not (bounds.label and _is_open(bounds)) or bounds.start in outer]


def _note_modes(known: list[Bounds], image: Image, architecture: Architecture) -> None:
    """Note the modes that the code tells: only a function's symbol has the bit for it.

    What is short may tell neither; without a name it is taken to be in the mode of what stands in front.
    """
    before = False
    for bounds in known:
        if bounds.label or not bounds.names:
            modes = modes_at(image, architecture, bounds.start)
            if False not in modes or (before and True in modes and not bounds.label):
                image.thumb.add(bounds.start)
        before = bounds.start in image.thumb


def _is_open(bounds: Bounds) -> bool:
    return bounds.end <= bounds.start


def _holds_code(image: Image, architecture: Architecture, start: int, end: int) -> bool:
    lines = decoded(image, architecture, start, end, start in image.thumb)
    return any(not architecture.is_padding(mnemonic, operands) for _, _, mnemonic, operands in lines)
