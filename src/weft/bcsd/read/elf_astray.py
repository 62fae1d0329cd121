"""Whether the section table of an ELF file says what is loaded: loaders never read it, and whoever wants changes it."""

from __future__ import annotations

from weft.bcsd.read.elf_view import ALLOCATED, CODE, LOAD, NO_BITS, Section, Segment, View
from weft.bcsd.read.names import printable


def sections_astray(view: View) -> list[str]:
    """The names of sections of code that do not lie where segments have them, or that overlap within a segment.

    A section at address a and offset o lies in a segment where ``a − address = o − offset``, up to its end.
    """
    loads = [segment for segment in view.segments if segment.type == LOAD]
    code = [section for section in view.sections if _is_code(section)]
    if not loads:
        return []
    names: list[str] = []
    ends: dict[Segment, int] = {}
    for section in sorted(code, key=lambda section: (section.address, section.size)):
        home = next((segment for segment in loads if _holds(segment, section)), None)
        if home is None or section.address < ends.get(home, 0):
            names.append(printable(section.name))
        if home is not None:
            ends[home] = max(ends.get(home, 0), section.address + section.size)
    return names


def _is_code(section: Section) -> bool:
    flags = ALLOCATED | CODE
    return section.flags & flags == flags and section.type != NO_BITS and section.size > 0


def _holds(segment: Segment, section: Section) -> bool:
    place = section.address - segment.address
    size = max(segment.file_size, segment.memory_size)
    return 0 <= place <= size - section.size and section.offset - segment.offset == place
