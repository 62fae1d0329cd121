"""ELF, from section headers or, where those are gone, from segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lief

from weft.bcsd.architectures import architecture_named, for_machine, machines_known
from weft.bcsd.read.elf_object import Layout, fill_in
from weft.bcsd.read.image import Image, Region, Symbol, remark_cut
from weft.bcsd.read.names import enum_name, printable
from weft.bcsd.read.unwind import find_eh_frame, read_eh_frame, read_exidx
from weft.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

_STUB_SECTIONS = frozenset({".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt", ".MIPS.stubs"})
_FUNCTION_TYPES = (lief.ELF.Symbol.TYPE.FUNC, lief.ELF.Symbol.TYPE.GNU_IFUNC)
#: Relocations that add where the file is loaded to the word that they stand at.
_MOVED_IN_PLACE = frozenset({"ARM_RELATIVE", "X86_RELATIVE", "MIPS_REL32"})
#: Bytes of a 32-bit file header.
_SMALLEST = 52
_TAG = lief.ELF.DynamicEntry.TAG


def parse_elf(source: str | bytes) -> lief.ELF.Binary | None:
    """Lief's view of a file, by its path or its bytes, without the parts that are never used here."""
    config = lief.ELF.ParserConfig()
    config.parse_symbol_versions = False
    config.parse_notes = False
    config.parse_overlay = False
    return lief.ELF.parse(source, config)


def read_elf(path: str, source: str | bytes, content: memoryview) -> Image:
    """Turn an ELF file into an image.

    Args:
        path: The file, for messages.
        source: What lief reads: the file's path, or its bytes where it lies in another file.
        content: Its bytes.

    Raises:
        InputError: It is not a program, library or object of a known architecture.
    """
    binary = parse_elf(source) if len(content) >= _SMALLEST else None
    if binary is None:
        raise InputError("an ELF file whose header cannot be parsed", where=path)
    header = binary.header
    name = enum_name(header.machine_type)
    bits = 64 if header.identity_class == lief.ELF.Header.CLASS.ELF64 else 32
    architecture = for_machine("elf", name, bits)
    if architecture is None:
        raise InputError(f"an ELF file for {name}", where=path, hint=f"known: {machines_known('elf')}")
    types = lief.ELF.Header.FILE_TYPE
    if header.file_type not in (types.EXEC, types.DYN, types.REL):
        raise InputError(f"an ELF file of type {enum_name(header.file_type)}", where=path)
    layout = Layout(binary, content) if header.file_type == types.REL else None
    if layout is not None:
        data = layout.regions
        code = [region for region in data if region.executable and region.data]
    else:
        data, code = _mapped(binary, content)
    image = Image(
        path=path,
        format="elf",
        architecture=architecture.name,
        big_endian=header.identity_data == lief.ELF.Header.ELF_DATA.MSB,
        fixed_base=header.file_type != types.DYN,
        code=code,
        data=data,
        stub_ranges=[(region.start, region.end) for region in code if region.name in _STUB_SECTIONS],
        relocatable=layout is not None,
    )
    ends = [segment.file_offset + segment.physical_size for segment in binary.segments]
    tables = header.section_header_offset + header.numberof_sections * header.section_header_size
    remark_cut(image, max([*ends, tables]), len(content))
    if layout is not None:
        fill_in(binary, layout, image, architecture)
        _read_symbols(binary, image, layout)
        return image
    _read_symbols(binary, image)
    _read_relocations(binary, image)
    _read_global_pointers(binary, image, architecture.global_pointer)
    for region in code:
        if region.name in _STUB_SECTIONS:
            image.stubs.update(architecture.stubs(image, region))
    for start, (end, name) in architecture.hidden_stubs(image).items():
        image.stub_ranges.append((start, end))
        if name is not None:
            image.stubs[start] = name
    _read_unwind(binary, image)
    _read_entries(binary, image)
    return image


def _mapped(binary: lief.ELF.Binary, content: memoryview) -> tuple[list[Region], list[Region]]:
    """What is loaded, and what of it is code."""
    data = [_segment_region(segment, content) for segment in binary.segments if _is_load(segment)]
    sections = [section for section in binary.sections if section.has(lief.ELF.Section.FLAGS.ALLOC)]
    code = [
        _section_region(section, content)
        for section in sections
        if section.has(lief.ELF.Section.FLAGS.EXECINSTR) and section.type != lief.ELF.Section.TYPE.NOBITS
    ]
    # A section header may lie: code outside every loaded segment is not code.
    mapped = [(region.start, region.end) for region in data]
    code = [r for r in code if r.data and any(low <= r.start and r.end <= high for low, high in mapped)]
    return data, code or [region for region in data if region.executable]


def _is_load(segment: lief.ELF.Segment) -> bool:
    return segment.type == lief.ELF.Segment.TYPE.LOAD


def _segment_region(segment: lief.ELF.Segment, content: memoryview) -> Region:
    flags = lief.ELF.Segment.FLAGS
    data = content[segment.file_offset : segment.file_offset + segment.physical_size]
    size = max(len(data), segment.virtual_size)
    return Region("", segment.virtual_address, data, size, segment.has(flags.X), segment.has(flags.W))


def _section_region(section: lief.ELF.Section, content: memoryview) -> Region:
    data = content[section.file_offset : section.file_offset + section.size]
    writable = section.has(lief.ELF.Section.FLAGS.WRITE)
    return Region(printable(section.name), section.virtual_address, data, len(data), True, writable)


def _read_symbols(binary: lief.ELF.Binary, image: Image, layout: Layout | None = None) -> None:
    """Function symbols of both tables; a mode bit in an address becomes a fact about the function."""
    mode_bit = architecture_named(image.architecture).mode_bit
    seen: set[tuple[int, int, str]] = set()
    for dynamic, table in ((False, binary.symtab_symbols), (True, binary.dynamic_symbols)):
        for symbol in table:
            if symbol.type not in _FUNCTION_TYPES or symbol.shndx == 0:
                continue
            address = symbol.value if layout is None else layout.address_of(symbol.shndx, symbol.value)
            if address is None:
                continue
            if address & mode_bit:
                address -= mode_bit
                image.thumb.add(address)
            if image.code_map.at(address) is None:
                continue
            found = (address, symbol.size, printable(symbol.name))
            if dynamic:
                image.exports[found[2]] = address
            if found not in seen:
                seen.add(found)
                image.symbols.append(Symbol(found[2], address, symbol.size))


def _read_relocations(binary: lief.ELF.Binary, image: Image) -> None:
    """Which pointers the loader fills, and with what."""
    for relocation in binary.relocations:
        address = relocation.address
        symbol = relocation.symbol if relocation.has_symbol else None
        if symbol is not None and symbol.name:
            image.slots[address] = printable(symbol.name)
            if symbol.value and symbol.shndx != 0:
                image.pointers[address] = symbol.value + relocation.addend
        elif relocation.is_rela and relocation.addend > 0:
            image.pointers[address] = relocation.addend
        elif not relocation.is_rela and enum_name(relocation.type) in _MOVED_IN_PLACE:
            # What is moved stands in the data.
            place = image.integer(address, image.pointer_size)
            if place:
                image.pointers[address] = place


def _read_global_pointers(binary: lief.ELF.Binary, image: Image, beyond: int) -> None:
    """A global offset table whose last entries belong to the last dynamic symbols, without relocations.

    Args:
        binary: The file.
        image: Gets the pointers of the table.
        beyond: Bytes from its begin to where the global pointer points; 0 where a processor has no such pointer.

    Source: MIPS ABI supplement, "Global Offset Table" and "Dynamic Section".
    """
    if not beyond:
        return
    tags = {entry.tag: entry.value for entry in binary.dynamic_entries}
    table = tags.get(_TAG.PLTGOT)
    if not table:
        return
    image.global_pointer = table + beyond
    local, first = tags.get(_TAG.MIPS_LOCAL_GOTNO, 0), tags.get(_TAG.MIPS_GOTSYM)
    if first is None:
        return
    for number, symbol in enumerate(list(binary.dynamic_symbols)[first:]):
        place = table + (local + number) * image.pointer_size
        if symbol.name:
            image.slots.setdefault(place, printable(symbol.name))
            if symbol.value and symbol.shndx != 0:
                image.pointers.setdefault(place, symbol.value)


def _read_unwind(binary: lief.ELF.Binary, image: Image) -> None:
    ranges = []
    place = _section_bytes(binary, image, ".eh_frame") or find_eh_frame(image, _eh_frame_header(binary))
    if place is not None:
        base, data = place
        ranges = read_eh_frame(data, base, pointer_size=image.pointer_size, big_endian=image.big_endian)
    place = _section_bytes(binary, image, ".ARM.exidx")
    if place is not None:
        base, data = place
        ranges += read_exidx(data, base, big_endian=image.big_endian)
    inside = (r for r in ranges if image.code_map.at(r.start) is not None and not image.in_stubs(r.start))
    image.unwind = sorted(set(inside), key=lambda r: (r.start, r.end))


def _section_bytes(binary: lief.ELF.Binary, image: Image, name: str) -> tuple[int, bytes] | None:
    section = binary.get_section(name)
    if section is None or section.size == 0:
        return None
    data = image.read(section.virtual_address, section.size)
    return (section.virtual_address, data) if data else None


def _eh_frame_header(binary: lief.ELF.Binary) -> int | None:
    for segment in binary.segments:
        if segment.type == lief.ELF.Segment.TYPE.GNU_EH_FRAME:
            return segment.virtual_address
    return None


def _read_entries(binary: lief.ELF.Binary, image: Image) -> None:
    """The entry point, constructors and destructors, and every code address that the loader writes into data."""
    tags = {entry.tag: entry.value for entry in binary.dynamic_entries}
    found = [binary.header.entrypoint, tags.get(_TAG.INIT, 0), tags.get(_TAG.FINI, 0)]
    arrays = ((_TAG.INIT_ARRAY, _TAG.INIT_ARRAYSZ), (_TAG.FINI_ARRAY, _TAG.FINI_ARRAYSZ))
    for start_tag, size_tag in arrays:
        start, size = tags.get(start_tag, 0), min(tags.get(size_tag, 0), 1 << 16)
        step = image.pointer_size
        found += [image.pointer(start + offset) or 0 for offset in range(0, size, step)]
    found += image.pointers.values()
    image.entries = _addresses_in_code(image, found)


def _addresses_in_code(image: Image, candidates: Iterable[int]) -> list[int]:
    """The distinct candidates that lie in code, a mode bit taken off and remembered."""
    addresses: set[int] = set()
    mode_bit = architecture_named(image.architecture).mode_bit
    for candidate in candidates:
        address = candidate
        if candidate & mode_bit:
            address -= mode_bit
            image.thumb.add(address)
        if address and image.code_map.at(address) is not None and not image.in_stubs(address):
            addresses.add(address)
    return sorted(addresses)
