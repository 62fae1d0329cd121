"""The view of any ELF file that lief reads."""

from __future__ import annotations

from collections.abc import Iterator

import lief

from weft.bcsd.read.elf_view import FunctionSymbol, Relocation, Section, Segment, View
from weft.bcsd.read.names import enum_name

_LABEL = lief.ELF.Symbol.TYPE.NOTYPE
_FUNCTION_TYPES = (lief.ELF.Symbol.TYPE.FUNC, lief.ELF.Symbol.TYPE.GNU_IFUNC)
_SHARED = (lief.ELF.Symbol.BINDING.GLOBAL, lief.ELF.Symbol.BINDING.WEAK)
#: Relocations that add where the file is loaded to the word that they stand at.
_MOVED_IN_PLACE = frozenset({"ARM_RELATIVE", "X86_RELATIVE", "MIPS_REL32"})
#: lief puts the machine above a tag's own number.
_TAG = (1 << 32) - 1


def parse_elf(source: str | bytes) -> lief.ELF.Binary | None:
    """Lief's view of a file, by its path or its bytes, without the parts that are never used here."""
    lief.logging.disable()
    config = lief.ELF.ParserConfig()
    config.parse_symbol_versions = False
    config.parse_notes = False
    config.parse_overlay = False
    return lief.ELF.parse(source, config)


def lief_view(binary: lief.ELF.Binary) -> View:
    """The view of what lief parsed."""
    header = binary.header
    return View(
        enum_name(header.machine_type),
        64 if header.identity_class == lief.ELF.Header.CLASS.ELF64 else 32,
        header.identity_data == lief.ELF.Header.ELF_DATA.MSB,
        int(header.file_type),
        header.entrypoint,
        header.section_header_offset + header.numberof_sections * header.section_header_size,
        [_segment(segment) for segment in binary.segments],
        [_section(section) for section in binary.sections],
        _symbols(binary),
        _relocations(binary),
        {int(entry.tag) & _TAG: entry.value for entry in binary.dynamic_entries},
    )


def machine_said(content: memoryview) -> str:
    """The machine that a header names, in the byte order that it names; lief turns the number round where it is odd.

    Args:
        content: The file's bytes.
    """
    number = int.from_bytes(content[18:20], "big" if content[5] == lief.ELF.Header.ELF_DATA.MSB else "little")
    try:
        return f"{enum_name(lief.ELF.ARCH(number))} (machine {number})"
    except ValueError:
        return f"the unknown machine {number}"


def _segment(segment: lief.ELF.Segment) -> Segment:
    return Segment(
        int(segment.type) & _TAG,
        segment.flags.value,
        segment.file_offset,
        segment.virtual_address,
        segment.physical_size,
        segment.virtual_size,
    )


def _section(section: lief.ELF.Section) -> Section:
    return Section(
        section.name,
        int(section.type) & _TAG,
        section.flags,
        section.virtual_address,
        section.file_offset,
        section.size,
    )


def _symbols(binary: lief.ELF.Binary) -> Iterator[FunctionSymbol]:
    for dynamic, table in ((False, binary.symtab_symbols), (True, binary.dynamic_symbols)):
        for symbol in table:
            typed = symbol.type in _FUNCTION_TYPES
            if symbol.shndx != 0 and (typed or (symbol.type == _LABEL and symbol.binding in _SHARED)):
                yield FunctionSymbol(dynamic, symbol.name, symbol.shndx, symbol.value, symbol.size, typed)


def _relocations(binary: lief.ELF.Binary) -> Iterator[Relocation]:
    for relocation in binary.relocations:
        symbol = relocation.symbol if relocation.has_symbol else None
        named = symbol is not None and symbol.name
        yield Relocation(
            relocation.address,
            symbol.name if symbol is not None and named else "",
            symbol.value if symbol is not None and named and symbol.shndx != 0 else 0,
            relocation.addend if relocation.is_rela else None,
            relocation.is_relatively_encoded or enum_name(relocation.type) in _MOVED_IN_PLACE,
        )
