"""ELF, from section headers or, where those are gone, from segments."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

from weft.bcsd.architectures import architecture_named, for_machine, machines_known
from weft.bcsd.read.debug.elf import taken_out
from weft.bcsd.read.elf_astray import sections_astray
from weft.bcsd.read.elf_bare import ARRAYS, array_entries, find_stubs, without_stubs, without_tables
from weft.bcsd.read.elf_view import (
    ALLOCATED,
    CODE,
    EH_FRAME,
    EXIDX,
    LIBRARY,
    LOAD,
    NO_BITS,
    PROGRAM,
    SYMBOLS,
    WRITABLE,
    FunctionSymbol,
    Section,
    Segment,
    View,
    plain_view,
)
from weft.bcsd.read.image import Image, Region, Symbol, remark_cut
from weft.bcsd.read.names import enum_name, printable
from weft.bcsd.read.unwind import find_eh_frame, read_eh_frame, read_exidx, search_eh_frame
from weft.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import lief

    from weft.bcsd.read.elf_object import Layout

_STUB_SECTIONS = frozenset({".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt", ".MIPS.stubs"})
#: Bytes of a 32-bit file header.
_SMALLEST = 52
_OBJECT = 1
#: Numbers of its architecture in a MIPS file's flags, for 32 and 64 bits.
_MIPS_RELEASE_6 = (9, 10)
_MIPS_N32, _MICRO_MIPS, _MIPS16 = 0x20, 0x02000000, 0x04000000
#: Processors of 64 bits, and what they are called where addresses have 32.
_SHORT_POINTERS = {
    "X86_64": "x86-64 with pointers of 32 bits (x32)",
    "AARCH64": "AArch64 with pointers of 32 bits (ILP32)",
}
#: Labels that linkers make for the begins and ends of sections.
_LINKER_MARK = re.compile(
    r"(_|__)?(etext|edata|end|ftext|fdata|fbss)|__end__|_bss_end__|__bss_(start|end)(__)?|__executable_start|__(start|stop)_.+"
)
#: Tags of the dynamic section.
_GLOBAL_SECTION = ".got"
_INIT, _FINI, _GLOBAL_TABLE, _LOCAL_ENTRIES, _FIRST_SYMBOL = 12, 13, 3, 0x7000000A, 0x70000013


def read_elf(path: str, source: str | bytes, content: memoryview) -> Image:
    """Turn an ELF file into an image.

    Args:
        path: The file, for messages.
        source: What lief reads: the file's path, or its bytes where it lies in another file.
        content: Its bytes.

    Raises:
        InputError: It is not a program, library or object of a known architecture.
    """
    binary: lief.ELF.Binary | None = None
    view = plain_view(content)
    if view is None:
        from weft.bcsd.read.elf_lief import lief_view, parse_elf

        binary = parse_elf(source) if len(content) >= _SMALLEST else None
        if binary is None:
            raise InputError("an ELF file whose header cannot be parsed", where=path)
        view = lief_view(binary)
    architecture = for_machine("elf", view.machine, view.bits)
    if architecture is None:
        from weft.bcsd.read.elf_lief import machine_said

        what = f"an ELF file for {machine_said(content)}"
        raise InputError(what, where=path, hint=f"known: {machines_known('elf')}")
    if variant := _unread(view, content):
        raise InputError(f"an ELF file for {variant}, which is not read", where=path)
    if view.type not in (PROGRAM, LIBRARY, _OBJECT):
        kind = enum_name(binary.header.file_type) if binary is not None else str(view.type)
        way = "of a core dump the program and its libraries can be read" if kind == "CORE" else ""
        raise InputError(f"an ELF file of type {kind}", where=path, hint=way)
    layout: Layout | None = None
    #: As it is loaded: without a table of sections that says otherwise.
    astray = sections_astray(view) if view.type != _OBJECT else []
    loaded = replace(view, sections=[]) if astray else view
    if view.type == _OBJECT and (sections := _beyond_header(view, content)):
        what = f"an object of {sections:,} sections, more than are read"
        raise InputError(what, where=path, hint="link it first")
    if binary is not None and view.type == _OBJECT:
        from weft.bcsd.read.elf_object import Layout

        layout = Layout(binary, content)
        data = layout.regions
        code = [region for region in data if region.executable and region.data]
    else:
        data, code = _mapped(loaded, content)
    image = Image(
        path=path,
        format="elf",
        architecture=architecture.name,
        big_endian=view.big_endian,
        fixed_base=view.type != LIBRARY,
        code=code,
        data=data,
        stub_ranges=[(region.start, region.end) for region in code if region.name in _STUB_SECTIONS],
        relocatable=layout is not None,
    )
    if astray:
        image.remarks.append(
            f"its table of sections is not of what is loaded ({', '.join(astray[:3])}): it is read as if it had none"
        )
    if not image.code_size and (elsewhere := _code_elsewhere(view)):
        image.remarks.append(elsewhere)
    ends = [segment.offset + segment.file_size for segment in view.segments]
    if layout is not None:
        ends += [section.offset + section.size for section in view.sections if section.type != NO_BITS]
    remark_cut(image, max([*ends, view.tables_end]), len(content))
    if view.machine == "MIPS" and _flags(view, content) & _MIPS16:
        image.remarks.append("some of its code is MIPS16, which is not read: functions there come out wrong")
    if binary is not None and layout is not None:
        from weft.bcsd.read.elf_object import fill_in

        fill_in(binary, layout, image, architecture)
        _read_symbols(view, image, layout)
        return image
    _read_symbols(view, image)
    if not any(section.type == SYMBOLS for section in view.sections):
        _read_what_was_taken_out(path, view, content, image)
    _read_relocations(view, image)
    if binary is not None:
        _read_global_pointers(binary, view, image, architecture.global_pointer)
    for region in code:
        if region.name in _STUB_SECTIONS:
            image.stubs.update(architecture.stubs(image, region))
    if not loaded.sections:
        find_stubs(image, architecture)
    for start, (end, name) in architecture.hidden_stubs(image).items():
        image.stub_ranges.append((start, end))
        if name is not None:
            image.stubs[start] = name
    _read_unwind(loaded, image)
    _read_entries(view, image)
    return image if loaded.sections else without_tables(image, loaded, architecture)


def _unread(view: View, content: memoryview) -> str | None:
    """The variant of a known processor that a file is for, where its code or its symbols are laid out otherwise.

    Source: ELF for the Arm Architecture, ``EF_ARM_BE8``; 64-bit PowerPC ELF ABI, ``EF_PPC64_ABI``; MIPS ELF,
    ``EF_MIPS_ABI2``, ``EF_MIPS_ARCH`` and ``EF_MIPS_ARCH_ASE``.
    """
    if view.machine == "RISCV" and view.bits == 32:
        return "RISC-V of 32 bits, whose short instructions mean other things"
    if view.bits == 32 and view.machine in _SHORT_POINTERS:
        return _SHORT_POINTERS[view.machine]
    flags = _flags(view, content)
    if view.machine == "ARM" and view.big_endian and flags & 0x00800000:
        return "ARM with data in one order of bytes and code in the other (BE8)"
    if view.machine == "PPC64" and flags & 3 != 2 and (flags & 3 == 1 or view.big_endian):
        return "64-bit PowerPC whose functions are known by descriptors (ELFv1)"
    if view.machine == "MIPS":
        if flags & _MIPS_N32:
            return "64-bit MIPS with pointers of 32 bits (n32)"
        if flags >> 28 in _MIPS_RELEASE_6:
            return "MIPS release 6, whose instructions are encoded otherwise"
        if flags & _MICRO_MIPS:
            return "microMIPS, whose instructions are encoded otherwise"
    return None


def _code_elsewhere(view: View) -> str | None:
    """Where the code of a file is that has none."""
    if any(section.flags & CODE and section.type == NO_BITS for section in view.sections):
        return "it holds debug information alone: name the file that it was split from; eu-unstrip joins both"
    if any(printable(section.name).startswith(".gnu.lto_") for section in view.sections):
        return "code of link-time optimisation comes with linking"
    return None


def _beyond_header(view: View, content: memoryview) -> int:
    """How many sections a file has that are too many for its header to count; 0 where it counts them.

    Source: System V ABI, "ELF Header", ``e_shnum``: then the first section's size says it.
    """
    order, wide = ">" if view.big_endian else "<", view.bits == 64
    place = struct.unpack_from(f"{order}{'Q' if wide else 'I'}", content, 40 if wide else 32)[0]
    counted = struct.unpack_from(f"{order}H", content, 60 if wide else 48)[0]
    at = place + (32 if wide else 20)
    if counted or not place or at + 8 > len(content):
        return 0
    return int(struct.unpack_from(f"{order}{'Q' if wide else 'I'}", content, at)[0])


def _flags(view: View, content: memoryview) -> int:
    """The processor's own flags in the header."""
    order = ">" if view.big_endian else "<"
    return int(struct.unpack_from(f"{order}I", content, 48 if view.bits == 64 else 36)[0])


def _mapped(view: View, content: memoryview) -> tuple[list[Region], list[Region]]:
    """What is loaded, and what of it is code."""
    data = [_segment_region(segment, content) for segment in view.segments if segment.type == LOAD]
    code = [
        _section_region(section, content)
        for section in view.sections
        if section.flags & ALLOCATED and section.flags & CODE and section.type != NO_BITS
    ]
    # A section header may lie: code outside every loaded segment is not code.
    mapped = [(region.start, region.end) for region in data]
    code = [r for r in code if r.data and any(low <= r.start and r.end <= high for low, high in mapped)]
    return data, code or [region for region in data if region.executable]


def _segment_region(segment: Segment, content: memoryview) -> Region:
    data = content[segment.offset : segment.offset + segment.file_size]
    size = max(len(data), segment.memory_size)
    return Region("", segment.address, data, size, bool(segment.flags & 1), bool(segment.flags & 2))


def _section_region(section: Section, content: memoryview) -> Region:
    data = content[section.offset : section.offset + section.size]
    writable = bool(section.flags & WRITABLE)
    return Region(printable(section.name), section.address, data, len(data), True, writable)


def _read_symbols(view: View, image: Image, layout: Layout | None = None) -> None:
    """Function symbols of both tables; a mode bit in an address becomes a fact about the function.

    A label without a type counts where its section holds code and no linker made it.
    """
    mode_bit = architecture_named(image.architecture).mode_bit
    seen: set[tuple[int, int, str]] = set()
    for symbol in view.symbols:
        if not symbol.typed and not _labels_code(symbol, view.sections):
            continue
        address = symbol.value if layout is None else layout.address_of(symbol.section, symbol.value)
        if address is None:
            continue
        if address & mode_bit:
            address -= mode_bit
            image.thumb.add(address)
        if image.code_map.at(address) is None:
            continue
        found = (address, symbol.size, printable(symbol.name))
        if symbol.dynamic:
            image.exports[found[2]] = address
        if found not in seen:
            seen.add(found)
            image.symbols.append(Symbol(found[2], address, symbol.size, symbol.typed))


def _read_what_was_taken_out(path: str, view: View, content: memoryview, image: Image) -> None:
    stripped, remark, image.looked = taken_out(path, view, content)
    if stripped is not None:
        _read_symbols(replace(view, sections=stripped.sections, symbols=stripped.symbols), image)
    if remark is not None:
        image.remarks.append(remark)


def _labels_code(symbol: FunctionSymbol, sections: list[Section]) -> bool:
    if symbol.section >= len(sections) or _LINKER_MARK.fullmatch(printable(symbol.name)):
        return False
    return bool(sections[symbol.section].flags & CODE)


def _read_relocations(view: View, image: Image) -> None:
    """Which pointers the loader fills, and with what."""
    for address, name, value, addend, moved in view.relocations:
        if name:
            image.slots[address] = printable(name)
            if value:
                image.pointers[address] = value + (addend or 0)
        elif addend is not None and addend > 0:
            image.pointers[address] = addend
        elif addend is None and moved:
            # What is moved stands in the data.
            place = image.integer(address, image.pointer_size)
            if place:
                image.pointers[address] = place


def _read_global_pointers(binary: lief.ELF.Binary, view: View, image: Image, beyond: int) -> None:
    """A global offset table whose last entries belong to the last dynamic symbols, without relocations.

    Args:
        binary: The file.
        view: Of it.
        image: Gets the pointers of the table.
        beyond: Bytes from its begin to where the global pointer points; 0 where a processor has no such pointer.

    Source: MIPS ABI supplement, "Global Offset Table" and "Dynamic Section".
    """
    if not beyond:
        return
    named = (section for section in view.sections if printable(section.name) == _GLOBAL_SECTION)
    image.offset_tables = [(section.address, section.address + section.size) for section in named]
    table = view.tags.get(_GLOBAL_TABLE)
    if not table:
        return
    image.global_pointer = table + beyond
    local, first = view.tags.get(_LOCAL_ENTRIES, 0), view.tags.get(_FIRST_SYMBOL)
    image.offset_tables.append((table, table + local * image.pointer_size))
    if first is None:
        return
    for number, symbol in enumerate(list(binary.dynamic_symbols)[first:]):
        place = table + (local + number) * image.pointer_size
        if symbol.name:
            image.slots.setdefault(place, printable(symbol.name))
            if symbol.value and symbol.shndx != 0:
                image.pointers.setdefault(place, symbol.value)


def _read_unwind(view: View, image: Image) -> None:
    ranges = []
    place = _section_bytes(view, image, ".eh_frame") or find_eh_frame(image, _eh_frame_header(view))
    if place is None and not view.sections:
        place = search_eh_frame(image)
    if place is not None:
        base, data = place
        ranges = read_eh_frame(data, base, pointer_size=image.pointer_size, big_endian=image.big_endian)
    place = _section_bytes(view, image, ".ARM.exidx") or _exidx_bytes(view, image)
    if place is not None:
        base, data = place
        ranges += read_exidx(data, base, big_endian=image.big_endian)
    if not view.sections:
        ranges = without_stubs(image, ranges, architecture_named(image.architecture))
    inside = (r for r in ranges if image.code_map.at(r.start) is not None and not image.in_stubs(r.start))
    image.unwind = sorted(set(inside), key=lambda r: (r.start, r.end))


def _section_bytes(view: View, image: Image, name: str) -> tuple[int, bytes] | None:
    section = next((section for section in view.sections if printable(section.name) == name), None)
    if section is None or section.size == 0:
        return None
    data = image.read(section.address, section.size)
    return (section.address, data) if data else None


def _exidx_bytes(view: View, image: Image) -> tuple[int, bytes] | None:
    found = next((segment for segment in view.segments if segment.type == EXIDX), None)
    if found is None or view.sections:
        return None
    return found.address, image.read(found.address, found.file_size)


def _eh_frame_header(view: View) -> int | None:
    return next((segment.address for segment in view.segments if segment.type == EH_FRAME), None)


def _read_entries(view: View, image: Image) -> None:
    """The entry point, constructors and destructors, and every code address that the loader writes into data."""
    found = [view.entry, view.tags.get(_INIT, 0), view.tags.get(_FINI, 0)]
    arrays = [array_entries(view, image, array) for array in ARRAYS]
    first = [entry for array in arrays for entry in array[:1]]
    image.begins = _addresses_in_code(image, [*found, *first, *_static_begins(view, image)])
    found += [entry for array in arrays for entry in array]
    found += image.pointers.values()
    image.entries = _addresses_in_code(image, found)


def _static_begins(view: View, image: Image) -> list[int]:
    """Of a program that no loader links: its initialiser and finaliser, the first constructor and destructor."""
    if view.tags or image.relocatable:
        return []
    places = {printable(section.name): section.address for section in view.sections if section.size}
    code = [places[name] for name in (".init", ".fini") if name in places]
    return code + [
        image.pointer(places[name]) or 0 for name in (".init_array", ".fini_array") if name in places
    ]


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
