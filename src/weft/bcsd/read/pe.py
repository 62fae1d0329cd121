"""PE (Windows): x86-64, i386, ARM64; functions from exports, COFF table, debug file and exception directory."""

from __future__ import annotations

import os
from dataclasses import replace

import lief

from weft.bcsd.architectures import for_machine, machines_known
from weft.bcsd.read.debug.coff import debug_link, holds_debug_alone, read_debug_file
from weft.bcsd.read.debug.look import Place, first_fitting, linked, take_up
from weft.bcsd.read.debug.pdb import Link, pdb_places, read_pdb
from weft.bcsd.read.image import Image, Region, Symbol, remark_cut
from weft.bcsd.read.members import split_member
from weft.bcsd.read.names import enum_name, printable
from weft.bcsd.read.pe_tables import read_exceptions, read_imports
from weft.errors import InputError

_EXECUTE = 0x20000000
_WRITE = 0x80000000
#: Bytes of the signature and the file header, and of one section's header.
_BEFORE_SECTIONS, _SECTION = 24, 40
#: Where the flags stand in the header of .NET.
_CLR_FLAGS = 16


def read_pe(path: str, source: str | bytes, content: memoryview) -> Image:
    """Turn a PE file into an image.

    Raises:
        InputError: It is not a PE file of a known architecture.
    """
    if holds_debug_alone(content):
        what = "debug information of a PE file, without its code"
        raise InputError(what, where=path, hint="name the program that it belongs to")
    binary = lief.PE.parse(source)
    if binary is None:
        raise InputError("a PE file whose header cannot be parsed", where=path)
    name = enum_name(binary.header.machine)
    architecture = for_machine("pe", name)
    if architecture is None:
        raise InputError(f"a PE file for {name}", where=path, hint=f"known: {machines_known('pe')}")
    if _is_managed(binary, content):
        raise InputError("an assembly of .NET, whose code is no machine's (CIL)", where=path)
    base = binary.optional_header.imagebase
    data = [_region(section, content, base) for section in binary.sections]
    image = Image(
        path=path,
        format="pe",
        architecture=architecture.name,
        big_endian=False,
        # Code of 32-bit files names absolute addresses at the preferred base; so do jump tables.
        fixed_base=True,
        code=[region for region in data if region.executable and region.data],
        data=data,
    )
    optional = (
        binary.dos_header.addressof_new_exeheader + _BEFORE_SECTIONS + binary.header.sizeof_optional_header
    )
    headers = optional + _SECTION * binary.header.numberof_sections
    ends = [section.offset + section.sizeof_raw_data for section in binary.sections]
    remark_cut(image, max([*ends, headers]), len(content))
    _read_names(binary, image, base)
    _read_what_was_taken_out(path, binary, content, image, base)
    if image.code:
        read_imports(binary, image, base)
        read_exceptions(binary, image, base)
    entry = binary.optional_header.addressof_entrypoint
    starts = {*image.entries, base + entry} if entry else set(image.entries)
    image.entries = sorted(address for address in starts if image.code_map.at(address) is not None)
    return image


def _is_managed(binary: lief.PE.Binary, content: memoryview) -> bool:
    """Whether a file holds nothing but code of .NET's virtual machine: the flag ``ILONLY`` of ECMA-335, II.25.3.3.1."""
    found = binary.data_directory(lief.PE.DataDirectory.TYPES.CLR_RUNTIME_HEADER)
    if found is None or not found.rva or found.size < _CLR_FLAGS + 4:
        return False
    section = next(
        (s for s in binary.sections if 0 <= found.rva - s.virtual_address < s.sizeof_raw_data), None
    )
    if section is None:
        return False
    at = section.offset + found.rva - section.virtual_address + _CLR_FLAGS
    return bool(int.from_bytes(content[at : at + 4], "little") & 1)


def _region(section: lief.PE.Section, content: memoryview, base: int) -> Region:
    data = content[section.offset : section.offset + section.sizeof_raw_data]
    size = section.virtual_size or len(data)
    data = data[:size]
    flags = section.characteristics
    executable = bool(flags & _EXECUTE)
    return Region(
        printable(section.name),
        base + section.virtual_address,
        data,
        len(data) if executable else size,
        executable,
        bool(flags & _WRITE),
    )


def _read_names(binary: lief.PE.Binary, image: Image, base: int) -> None:
    """Names of exports and of the COFF table; exports by ordinal have none and are entries."""
    for function in binary.exported_functions:
        address = base + function.address
        if image.code_map.at(address) is not None:
            image.symbols.append(Symbol(printable(function.name), address, 0))
    export = binary.get_export()
    for entry in export.entries if export is not None else ():
        if not entry.name and not entry.is_forwarded:
            image.entries.append(base + entry.address)
    starts = [base + section.virtual_address for section in binary.sections]
    front = _front(image)
    for symbol in binary.symbols:
        of_code = symbol.complex_type == lief.COFF.Symbol.COMPLEX_TYPE.FUNCTION
        if not of_code or not 0 < symbol.section_idx <= len(starts):
            continue
        address = starts[symbol.section_idx - 1] + symbol.value
        if image.code_map.at(address) is not None:
            image.symbols.append(Symbol(printable(symbol.name).removeprefix(front), address, 0))


def _front(image: Image) -> str:
    """What stands in front of names in C: an underscore on i386."""
    return "_" if image.pointer_size == 4 else ""


def _read_what_was_taken_out(
    path: str, binary: lief.PE.Binary, content: memoryview, image: Image, base: int
) -> None:
    """What a PDB file names, and, where the COFF table is gone, the file of a GNU debug link."""
    if split_member(path)[1] is not None:
        return
    front, debug = _front(image).encode(), binary.codeview_pdb
    link = None
    if debug is not None:
        link = Link(os.fsdecode(debug.filename), bytes(debug.signature), debug.age, front)
    gnu = {} if len(binary.symbols) else dict(linked(path, debug_link(content)))
    pdb = dict.fromkeys(pdb_places(path, link), link) if link is not None else {}

    def read(found: memoryview, place: Place) -> list[Symbol] | None:
        owner = pdb.get(place)
        named = read_pdb(found, owner) if owner else read_debug_file(found, gnu[place], front)
        return named or None

    found = first_fitting(path, [*pdb, *gnu], read)
    take_up(image, found, [replace(symbol, address=base + symbol.address) for symbol in found.names or ()])
