"""Mach-O: x86-64 and ARM64; a fat file's first known slice; functions from symbols and ``LC_FUNCTION_STARTS``."""

from __future__ import annotations

import lief

from weft.bcsd.read.elf import printable
from weft.bcsd.read.image import ArchitectureName, Image, Region, Symbol, UnwindRange
from weft.errors import InputError

_CPU = lief.MachO.Header.CPU_TYPE
_ARCHITECTURES: dict[lief.MachO.Header.CPU_TYPE, ArchitectureName] = {
    _CPU.X86_64: "x86_64",
    _CPU.ARM64: "aarch64",
}
_PURE_INSTRUCTIONS = 0x80000000
_SOME_INSTRUCTIONS = 0x00000400
_SECTION_TYPE = 0xFF
_SYMBOL_STUBS = 0x8
_LAZY_POINTERS = 0x7
_POINTERS = 0x6
_EXECUTE = 0x4
_WRITE = 0x2


def read_macho(path: str, content: memoryview) -> Image:
    """Turn a Mach-O file, or the first known slice of a fat one, into an image.

    Raises:
        InputError: It holds no slice of a known architecture.
    """
    fat = lief.MachO.parse(path)
    if fat is None or fat.size == 0:
        raise InputError("a Mach-O file whose header cannot be parsed", where=path)
    binary = next((b for b in fat if b.header.cpu_type in _ARCHITECTURES), None)
    if binary is None:
        found = ", ".join(sorted(str(b.header.cpu_type).rpartition(".")[2] for b in fat))
        known = ", ".join(sorted(_ARCHITECTURES.values()))
        raise InputError(f"a Mach-O file for {found}", where=path, hint=f"known: {known}")
    content = content[binary.fat_offset :]
    data: list[Region] = []
    code: list[Region] = []
    stub_ranges: list[tuple[int, int]] = []
    for segment in binary.segments:
        raw = content[segment.file_offset : segment.file_offset + segment.file_size]
        protection = int(segment.init_protection)
        executable, writable = bool(protection & _EXECUTE), bool(protection & _WRITE)
        data.append(Region(printable(segment.name), segment.virtual_address, raw, segment.virtual_size, executable, writable))
        for section in segment.sections:
            if not int(section.raw_flags) & (_PURE_INSTRUCTIONS | _SOME_INSTRUCTIONS):
                continue
            part = content[section.offset : section.offset + section.size]
            code.append(Region(printable(section.name), section.virtual_address, part, len(part), True, writable))
            if int(section.raw_flags) & _SECTION_TYPE == _SYMBOL_STUBS:
                stub_ranges.append((section.virtual_address, section.virtual_address + len(part)))
    image = Image(
        path=path,
        format="macho",
        architecture=_ARCHITECTURES[binary.header.cpu_type],
        big_endian=False,
        fixed_base=False,
        code=[region for region in code if region.data],
        data=data,
        stub_ranges=stub_ranges,
    )
    _read_functions(binary, image)
    _read_stubs(binary, image)
    return image


def _read_functions(binary: lief.MachO.Binary, image: Image) -> None:
    starts: set[int] = set()
    table = binary.function_starts
    if table is not None:
        starts.update(binary.imagebase + offset for offset in table.functions)
    for symbol in binary.symbols:
        if symbol.value and image.code_map.at(symbol.value) is not None and not image.in_stubs(symbol.value):
            name = printable(symbol.name)
            image.symbols.append(Symbol(name.removeprefix("_"), symbol.value, 0))
    image.unwind = [UnwindRange(s, s) for s in sorted(starts) if image.code_map.at(s) is not None]
    if binary.has_entrypoint and image.code_map.at(binary.entrypoint) is not None:
        image.entries.append(binary.entrypoint)


def _read_stubs(binary: lief.MachO.Binary, image: Image) -> None:
    """Stub and pointer sections hold one entry per name of the indirect symbol table, in its order."""
    table = binary.dynamic_symbol_command
    if table is None:
        return
    names = [printable(symbol.name).removeprefix("_") for symbol in table.indirect_symbols]
    for section in binary.sections:
        kind = int(section.raw_flags) & _SECTION_TYPE
        if kind == _SYMBOL_STUBS:
            step, target = section.reserved2, image.stubs
        elif kind in (_LAZY_POINTERS, _POINTERS):
            step, target = 8, image.slots
        else:
            continue
        if step <= 0:
            continue
        first = section.reserved1
        for index in range(min(section.size // step, len(names) - first)):
            target[section.virtual_address + index * step] = names[first + index]
