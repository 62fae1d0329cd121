"""Names that stripping took out of a Mach-O file, from the ``.dSYM`` folder beside it.

    tool.dSYM/Contents/Resources/DWARF/tool      beside ``tool``, or beside the bundle that holds it (``Tool.app.dSYM``)

The file there is a Mach-O file without code, of one slice or several; that with the UUID of the stripped one has its
table of symbols. Only headers, UUID and that table are read: what stands beside them may have gigabytes.

Source: ``mach-o/loader.h``, ``mach-o/nlist.h``; LLDB, "Symbols on macOS".
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from weft.bcsd.read.debug.look import Found, Place, UnfitError, first_fitting
from weft.bcsd.read.image import Symbol
from weft.bcsd.read.members import list_slices
from weft.bcsd.read.names import printable

_MAGIC = b"\xcf\xfa\xed\xfe"
_HEADER, _DSYM = 32, 10
_SYMBOL_TABLE, _UUID = 0x2, 0x1B
_SYMBOL = struct.Struct("<IBBHQ")
#: Of a symbol's type: debugging entries, whose values are anything; a kind; the kind that lies in a section.
_DEBUG, _KIND, _IN_SECTION = 0xE0, 0x0E, 0x0E
_BUNDLES = (".app", ".framework", ".bundle", ".appex", ".kext", ".plugin", ".xpc")
_LONGEST = 1 << 12


def names_from_dsym(path: str, uuid: bytes) -> Found[list[Symbol]]:
    """What the debug file of a Mach-O file names, code or not.

    Args:
        path: The file, or the fat file that it is a slice of.
        uuid: Of the slice.
    """

    def read(content: memoryview, _: Place) -> list[Symbol] | None:
        return read_dsym(content, uuid) or None

    return first_fitting(path, _places(path), read)


def holds_dwarf_alone(content: memoryview) -> bool:
    """Whether a Mach-O file is one of a ``.dSYM`` folder, which is no binary of its own."""
    kinds = ((part[:4], int.from_bytes(part[12:16], "little")) for part in _parts(content))
    return all(magic == _MAGIC and kind == _DSYM for magic, kind in kinds)


def read_dsym(content: memoryview, uuid: bytes) -> list[Symbol]:
    """What lies in sections, of the slice with this UUID.

    Raises:
        UnfitError: There is no such slice, or it is damaged.
    """
    for part in _parts(content):
        commands = dict(_commands(part))
        if bytes(commands.get(_UUID, b"")) == uuid:
            table = commands.get(_SYMBOL_TABLE)
            return [] if table is None else list(_symbols(part, table))
    raise UnfitError("is of another build")


def _places(path: str) -> Iterator[Place]:
    place = os.path.abspath(path)
    name = os.path.basename(place)
    owners = [place]
    while (above := os.path.dirname(place)) != place:
        place = above
        if place.endswith(_BUNDLES):
            owners.append(place)
    owners.append(name)
    for owner in owners:
        yield Place(f"{owner}.dSYM/Contents/Resources/DWARF/{name}", f"{os.path.basename(owner)}.dSYM")


def _parts(content: memoryview) -> list[memoryview]:
    """The slices, or the file itself."""
    slices = list_slices(content)
    return [content[one.start : one.start + one.size] for one in slices] or [content]


def _commands(content: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The load commands, each with what stands behind its size."""
    if content[:4] != _MAGIC or len(content) < _HEADER:
        raise UnfitError("is damaged")
    count, size = struct.unpack_from("<II", content, 16)
    at, end = _HEADER, min(_HEADER + size, len(content))
    for _ in range(count):
        if at + 8 > end:
            raise UnfitError("is damaged")
        kind, length = struct.unpack_from("<II", content, at)
        if length < 8 or at + length > end:
            raise UnfitError("is damaged")
        yield kind, content[at + 8 : at + length]
        at += length


def _symbols(content: memoryview, table: memoryview) -> Iterator[Symbol]:
    if len(table) < 16:
        raise UnfitError("is damaged")
    at, count, names_at, names_size = struct.unpack_from("<4I", table)
    entries, names = content[at : at + count * _SYMBOL.size], content[names_at : names_at + names_size]
    if len(entries) < count * _SYMBOL.size or len(names) < names_size:
        raise UnfitError("is cut short")
    for place, kind, _, _, address in _SYMBOL.iter_unpack(entries):
        if kind & (_DEBUG | _KIND) == _IN_SECTION and place < names_size:
            name = bytes(names[place : place + _LONGEST]).partition(b"\0")[0]
            yield Symbol(printable(name).removeprefix("_"), address, 0)
