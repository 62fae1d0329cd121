"""Names and sizes of the functions of a Windows program, from its PDB file.

    stream 1 (PDB info)   version, time, age, GUID
    stream 3 (DBI)        age; numbers of the streams of publics, of section headers, and of each module's symbols
    publics               S_PUB32: flags, offset, section, name as the linker knows it (``?get@Box@@QEAAHXZ``)
    a module              S_GPROC32, S_LPROC32: size, offset, section, name as in the source (``Box::get``)

A function has its public names; one that only its file knows (``static``) has none and is called as in the source, and
so is one in C, whose public name may be decorated (``_f@8``). An address is a section's, by the headers kept in the
file, and the offset in it; where code was rearranged after linking, ``omap`` says where it went.

Source: LLVM, "The PDB File Format"; Microsoft, ``cvinfo.h`` (layouts of the symbols).
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from weft.bcsd.read.debug.look import Place, UnfitError
from weft.bcsd.read.debug.msf import Streams, need
from weft.bcsd.read.debug.omap import Moves
from weft.bcsd.read.image import Symbol
from weft.bcsd.read.names import printable

_INFO, _DBI = 1, 3
#: Versions of the streams' layouts: VC70 and later.
_VC70_INFO, _VC70_DBI = 20000404, 19990903
_INFO_HEADER, _DBI_HEADER, _MODULE, _SECTION = 28, 64, 64, 40
_NONE = 0xFFFF
#: Places in the list of further streams.
_REARRANGED, _SECTIONS, _SECTIONS_BEFORE = 4, 5, 10
_PUBLIC = 0x110E
_PROCEDURES = frozenset({0x110F, 0x1110, 0x1146, 0x1147})
_LOCAL = frozenset({0x110F, 0x1146})
#: Flags of a public symbol.
_CODE, _FUNCTION = 1, 2
#: Signature in front of a module's symbols: CodeView of C13.
_C13 = 4
#: What a compiler puts around a C name: ``_f``, ``_f@8``, ``@f@8``, ``f@@16``.
_DECORATED = re.compile(rb"[_@]?(.+?)(?:@@?\d+)?", re.DOTALL)


class Link(NamedTuple):
    """What a program says about its PDB file.

    Args:
        path: Where that was written, by the names of the machine that built it.
        guid: 16 bytes.
        age: How often it was written by then.
        front: What stands in front of names in C on its processor.
    """

    path: str
    guid: bytes
    age: int
    front: bytes = b""


class _Procedure(NamedTuple):
    name: bytes
    size: int
    local: bool


class _Public(NamedTuple):
    name: bytes
    typed: bool


def pdb_places(path: str, link: Link) -> Iterator[Place]:
    """Beside the program, then in stores of symbols: ``DIR/x.pdb/GUID and age/x.pdb``, as SymStore keeps them."""
    name = re.split(r"[\\/]", link.path)[-1]
    here = os.path.dirname(os.path.abspath(path))
    own = os.path.splitext(os.path.basename(path))[0] + ".pdb"
    yield from (Place(os.path.join(here, beside), beside) for beside in dict.fromkeys((name, own)) if beside)
    if name not in ("", ".", ".."):
        first, second, third = struct.unpack_from("<IHH", link.guid)
        key = f"{first:08X}{second:04X}{third:04X}{link.guid[8:].hex().upper()}{link.age:X}"
        yield Place(os.path.join(name, key, name), name)


def read_pdb(content: memoryview, link: Link) -> list[Symbol]:
    """The functions of a PDB file, by address from the image's base.

    Args:
        content: The file.
        link: What its program says about it.

    Raises:
        UnfitError: It is of another build, of a form that is not read, or damaged.
    """
    streams = Streams(content)
    info = streams.read(_INFO)
    need(len(info) >= _INFO_HEADER)
    if int.from_bytes(info[:4], "little") < _VC70_INFO:
        raise UnfitError("is a PDB of an old form, which is not read")
    if info[12:28] != link.guid:
        raise UnfitError("is of another build")
    dbi = streams.read(_DBI)
    if not dbi:
        return []
    need(len(dbi) >= _DBI_HEADER)
    mark, version, age = struct.unpack_from("<iII", dbi)
    if mark != -1 or version < _VC70_DBI:
        raise UnfitError("is a PDB of an old form, which is not read")
    # The age in the first stream also counts what was written into the file after linking.
    if age != link.age:
        raise UnfitError("is of another build")
    records = int.from_bytes(dbi[20:22], "little")
    *sizes, _, further, edited = struct.unpack_from("<5iIii", dbi, 24)
    need(min(*sizes, further, edited) >= 0)
    need(_DBI_HEADER + sum(sizes) + edited + further <= len(dbi))
    starts, moves = _section_starts(streams, dbi[_DBI_HEADER + sum(sizes) + edited :][:further])
    publics: dict[tuple[int, int], list[_Public]] = {}
    if records != _NONE:
        data = streams.read(records)
        for kind, at, end in _records(data, 0):
            if kind == _PUBLIC:
                flags, offset, section, name = _fields("<IIH", data, at, end)
                if flags & (_CODE | _FUNCTION):
                    public = _Public(name, bool(flags & _FUNCTION))
                    publics.setdefault((section, offset), []).append(public)
    procedures: dict[tuple[int, int], list[_Procedure]] = {}
    for stream, length in _modules(dbi[_DBI_HEADER : _DBI_HEADER + sizes[0]]):
        data = streams.read(stream, length)
        need(int.from_bytes(data[:4], "little") == _C13)
        for kind, at, end in _records(data, 4):
            if kind in _PROCEDURES:
                *_, size, _, _, _, offset, section, _, name = _fields("<8IHB", data, at, end)
                procedure = _Procedure(name, size, kind in _LOCAL)
                procedures.setdefault((section, offset), []).append(procedure)
    found: list[Symbol] = []
    for place in sorted(publics.keys() | procedures.keys()):
        section, offset = place
        if 0 < section <= len(starts):
            address = starts[section - 1] + offset
            named = _named(address, publics.get(place, []), procedures.get(place, []), link.front)
            found += named if moves is None else _moved(named, moves)
    return found


def _named(
    address: int, publics: list[_Public], procedures: list[_Procedure], front: bytes
) -> Iterator[Symbol]:
    """The names of one address, each once."""
    size = max((procedure.size for procedure in procedures), default=0)
    in_source = {procedure.name for procedure in procedures}
    names: dict[bytes, bool] = {}
    for public, typed in publics:
        plain = _DECORATED.fullmatch(public)
        name = public if public.startswith(b"?") else public.removeprefix(front)
        if public in in_source or (plain and plain[1] in in_source):
            name = public if public in in_source or plain is None else plain[1]
        names[name] = names.get(name, False) or typed or bool(procedures)
    for procedure in procedures:
        if procedure.local or not publics:
            names[procedure.name] = True
    for name, typed in names.items():
        yield Symbol(printable(name), address, size, typed)


def _moved(named: Iterable[Symbol], moves: Moves) -> Iterator[Symbol]:
    """Symbols where they are now; those that were taken out are none."""
    for symbol in named:
        address = moves.after(symbol.address)
        if address is not None:
            yield replace(symbol, address=address, size=moves.size_after(symbol.address, symbol.size))


def _section_starts(streams: Streams, further: bytes) -> tuple[list[int], Moves | None]:
    """Where each section begins, from the image's base; as it was before code moved, if it did, and where it went."""
    numbers = [*struct.unpack(f"<{len(further) // 2}H", further[: len(further) & ~1])]
    numbers += [_NONE] * (_SECTIONS_BEFORE + 1 - len(numbers))
    moves = Moves(streams.read(numbers[_REARRANGED])) if numbers[_REARRANGED] != _NONE else None
    number = numbers[_SECTIONS_BEFORE if moves else _SECTIONS]
    need(number != _NONE)
    headers = streams.read(number)
    starts = [
        int.from_bytes(headers[at + 12 : at + 16], "little")
        for at in range(0, len(headers) - _SECTION + 1, _SECTION)
    ]
    return starts, moves or None


def _modules(data: bytes) -> Iterator[tuple[int, int]]:
    """The stream of each module that has symbols, and their length in it."""
    at = 0
    while at < len(data):
        need(at + _MODULE <= len(data))
        stream, length = struct.unpack_from("<HI", data, at + 34)
        if stream != _NONE and length > 4:
            yield stream, length
        # Names of the module and of its file, then up to a whole word.
        end = data.find(b"\0", data.find(b"\0", at + _MODULE) + 1)
        need(end > at + _MODULE)
        at = end + 4 & ~3


def _records(data: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """The kind of each symbol, and where its fields begin and end."""
    unpack = struct.Struct("<HH").unpack_from
    last = len(data)
    while at < last:
        need(at + 4 <= last)
        length, kind = unpack(data, at)
        end = at + 2 + length
        need(length >= 2 and end <= last)
        yield kind, at + 4, end
        if kind in _PROCEDURES and end - at >= 12:
            # What stands in a function up to its end is of no use here.
            end = max(end, min(int.from_bytes(data[at + 8 : at + 12], "little"), last))
        at = end


def _fields(form: str, data: bytes, at: int, end: int) -> tuple:
    """Numbers of a symbol, and the name behind them."""
    begin = at + struct.calcsize(form)
    stop = data.find(b"\0", begin, end)
    need(begin <= end)
    return (*struct.unpack_from(form, data, at), data[begin : stop if stop >= 0 else end])
