"""Names that stripping took out of an ELF file, where it leads to them.

    by build ID            ``DIR/.build-id/12/345….debug``, whose build ID has to be the same
    by debug link          ``.gnu_debuglink``: a name, looked for beside the file, in ``.debug`` there, below ``DIR``
                           (where one of both has no build ID, its bytes have to have the CRC-32 of the link)
    packed into the file   ``.gnu_debugdata``: an ELF file with a table of symbols, compressed by xz

``DIR`` is one of :func:`weft.bcsd.read.debug.look.debug_folders`.

Source: GDB manual, "Debugging Information in Separate Files" and "MiniDebugInfo".
"""

from __future__ import annotations

import lzma
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from weft.bcsd.read.debug.look import Found, Place, UnfitError, first_fitting, linked
from weft.bcsd.read.elf_view import NO_BITS, FunctionSymbol, Section, View, plain_symbols
from weft.bcsd.read.members import split_member
from weft.bcsd.read.names import printable

_NOTE_SEGMENT, _NOTE_SECTION, _BUILD_ID = 4, 7, 3
#: Bytes of a packed table of symbols, unpacked: that of a large program has 5 MiB.
_UNPACKED = 1 << 26
#: Bytes that unpacking may take: xz at its best takes 65 MiB.
_MEMORY = 1 << 27
#: Bytes of notes.
_NOTES = 1 << 16


class Stripped(NamedTuple):
    """What was taken out of a file.

    Args:
        sections: As numbered in the symbols.
        symbols: Of functions, and labels.
    """

    sections: list[Section]
    symbols: list[FunctionSymbol]


def taken_out(path: str, view: View, content: memoryview) -> Found[Stripped]:
    """The symbols that a stripped file leads to, if there are any.

    Args:
        path: The file, or a member of one, which leads nowhere.
        view: Of it.
        content: Its bytes.
    """
    notes = ((part.offset, part.file_size) for part in view.segments if part.type == _NOTE_SEGMENT)
    own = build_id(notes, content, view.big_endian)
    places = dict(_places(path, view, content, own)) if split_member(path)[1] is None else {}

    def read(found: memoryview, place: Place) -> Stripped | None:
        stripped = _symbols(found)
        if stripped is None or not _belongs(stripped, found, own, places[place], big_endian=view.big_endian):
            raise UnfitError("is damaged or of another build")
        return stripped if stripped.symbols else None

    found = first_fitting(path, places, read)
    packed = _section(view, content, ".gnu_debugdata") if found.names is None else b""
    if not packed:
        return found
    stripped = _unpacked(packed)
    if stripped is None and found.remark is None:
        what = "the names packed into it (.gnu_debugdata) are damaged or too many: they are not read"
        found = found._replace(remark=what)
    return found._replace(names=stripped)


def _belongs(
    stripped: Stripped, content: memoryview, own: bytes, checksum: int | None, *, big_endian: bool
) -> bool:
    """Whether both are of one build: by their build IDs, else by the checksum in the link."""
    notes = ((part.offset, part.size) for part in stripped.sections if part.type == _NOTE_SECTION)
    other = build_id(notes, content, big_endian)
    return other == own if own and other else zlib.crc32(content) == checksum


def build_id(places: Iterable[tuple[int, int]], content: memoryview, big_endian: bool) -> bytes:
    """The build ID among notes that stand at these offsets with these sizes; empty where there is none."""
    form = ">3I" if big_endian else "<3I"
    for offset, size in places:
        notes = bytes(content[offset : offset + min(size, _NOTES)])
        at = 0
        while at + 12 <= len(notes):
            name, length, kind = struct.unpack_from(form, notes, at)
            begin = at + 12 + (name + 3 & ~3)
            if kind == _BUILD_ID and notes[at + 12 : at + 12 + name] == b"GNU\0":
                return notes[begin : begin + length]
            at = begin + (length + 3 & ~3)
    return b""


def _places(path: str, view: View, content: memoryview, own: bytes) -> Iterator[tuple[Place, int | None]]:
    """Where a debug file may be, the likeliest first, each with its checksum where a link tells it."""
    if len(own) > 1:
        shown = f".build-id/{own.hex()[:2]}/{own.hex()[2:]}.debug"
        yield Place(shown, shown), None
    yield from linked(path, _section(view, content, ".gnu_debuglink"), big_endian=view.big_endian)


def _symbols(content: memoryview) -> Stripped | None:
    """The full table of a file; None where it is damaged."""
    found = plain_symbols(content)
    if found is not None:
        return Stripped(*found)
    from weft.bcsd.read.elf_lief import lief_view, parse_elf

    binary = parse_elf(bytes(content))
    if binary is None:
        return None
    view = lief_view(binary)
    return Stripped(view.sections, [symbol for symbol in view.symbols if not symbol.dynamic])


def _unpacked(data: bytes) -> Stripped | None:
    """The table that is packed into a file; None where it cannot be unpacked."""
    try:
        unpacked = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY).decompress(data, _UNPACKED)
    except lzma.LZMAError:
        return None
    return _symbols(memoryview(unpacked)) if unpacked else None


def _section(view: View, content: memoryview, name: str) -> bytes:
    found = next((s for s in view.sections if printable(s.name) == name and s.type != NO_BITS), None)
    return b"" if found is None else bytes(content[found.offset : found.offset + found.size])
