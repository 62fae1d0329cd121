"""Names that stripping took out of a Windows program made by GNU tools, from the file that its debug link names.

    .gnu_debuglink     in the program, as in ELF: a name, and the CRC-32 of the debug file's bytes
    COFF table         of the debug file, a PE file whose sections have places and no bytes: 18 bytes for each symbol
                       (name, or its place in the strings behind; value, section, type, class, entries that follow)

Source: Microsoft, "PE Format" (COFF File Header, Section Table, COFF Symbol Table); GDB manual, "Separate Debug Files".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from weft.bcsd.read.debug.look import UnfitError
from weft.bcsd.read.image import Symbol
from weft.bcsd.read.names import printable

_SECTION = struct.Struct("<8s6I2HI")
_SYMBOL = struct.Struct("<8sIhHBB")
_EXECUTE = 0x20000000 | 0x20
#: Of a symbol's type: what it is derived as, and that this is a function.
_DERIVED, _FUNCTION = 0x30, 0x20
_LONGEST = 1 << 12
#: Bytes of a section that is a link.
_LINK = 1 << 13


class _Section(NamedTuple):
    name: bytes
    address: int
    size: int
    offset: int
    flags: int


class Coff(NamedTuple):
    """The headers of a PE file.

    Args:
        sections: In their order.
        symbols: The bytes of its table of symbols.
        strings: Names that are longer than 8 bytes.
    """

    sections: list[_Section]
    symbols: memoryview
    strings: memoryview


def read_coff(content: memoryview) -> Coff | None:
    """The headers of a PE file; None where they are damaged."""
    try:
        (at,) = struct.unpack_from("<I", content, 0x3C)
        signature, count, table, number, optional = struct.unpack_from("<4s2xH4xIIH", content, at)
    except struct.error:
        return None
    first = at + 24 + optional
    if content[:2] != b"MZ" or signature != b"PE\0\0" or first + count * _SECTION.size > len(content):
        return None
    behind = table + number * _SYMBOL.size if table else len(content)
    symbols, strings = content[table:behind] if table else content[:0], content[behind:]
    if len(symbols) < number * _SYMBOL.size:
        return None
    sections: list[_Section] = []
    for place in range(first, first + count * _SECTION.size, _SECTION.size):
        name, _, address, size, offset, *_, flags = _SECTION.unpack_from(content, place)
        short = name.rstrip(b"\0")
        if short[:1] == b"/" and short[1:].isdigit():
            short = _string(strings, int(short[1:]))
        sections.append(_Section(short, address, size, offset, flags))
    return Coff(sections, symbols, strings)


def debug_link(content: memoryview) -> bytes:
    """The section ``.gnu_debuglink`` of a PE file; empty where there is none."""
    coff = read_coff(content)
    found = next((s for s in coff.sections if s.name == b".gnu_debuglink"), None) if coff else None
    return b"" if found is None else bytes(content[found.offset : found.offset + min(found.size, _LINK)])


def holds_debug_alone(content: memoryview) -> bool:
    """Whether a PE file has places of code and no bytes of it, but symbols: a debug file, which is no binary."""
    coff = read_coff(content)
    if coff is None or not len(coff.symbols):
        return False
    code = [section for section in coff.sections if section.flags & _EXECUTE]
    return bool(code) and not any(section.size and section.offset for section in code)


def read_debug_file(content: memoryview, checksum: int, front: bytes) -> list[Symbol]:
    """The functions of a debug file, by address from the image's base.

    Args:
        content: The file.
        checksum: What the link says.
        front: What stands in front of names in C on its processor.

    Raises:
        UnfitError: It is of another build, or damaged.
    """
    coff = read_coff(content) if zlib.crc32(content) == checksum else None
    if coff is None:
        raise UnfitError("is damaged or of another build")
    return list(_functions(coff, front))


def _functions(coff: Coff, front: bytes) -> Iterator[Symbol]:
    passed = 0
    for short, value, section, kind, _, more in _SYMBOL.iter_unpack(coff.symbols):
        if passed:
            passed -= 1
            continue
        passed = more
        if kind & _DERIVED != _FUNCTION or not 0 < section <= len(coff.sections):
            continue
        name = short.rstrip(b"\0")
        if not any(short[:4]):
            name = _string(coff.strings, int.from_bytes(short[4:], "little"))
        if name:
            yield Symbol(printable(name.removeprefix(front)), coff.sections[section - 1].address + value, 0)


def _string(strings: memoryview, place: int) -> bytes:
    return bytes(strings[place : place + _LONGEST]).partition(b"\0")[0]
