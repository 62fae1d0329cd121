"""Mach-O: x86-64 and ARM64; functions from symbols, a ``.dSYM`` and ``LC_FUNCTION_STARTS``. Objects are refused."""

from __future__ import annotations

import lief

from weft.bcsd.architectures import for_machine, machines_known
from weft.bcsd.read.debug.dsym import names_from_dsym
from weft.bcsd.read.debug.look import take_up
from weft.bcsd.read.image import Image, Region, Symbol, UnwindRange, remark_cut
from weft.bcsd.read.members import split_member
from weft.bcsd.read.names import enum_name, printable
from weft.errors import InputError

_FLAGS = lief.MachO.Section.FLAGS
_TYPE = lief.MachO.Section.TYPE
#: Of a symbol's type: debugging entries, whose values are anything; a kind; the kind that lies in a section.
_DEBUG, _KIND, _IN_SECTION = 0xE0, 0x0E, 0x0E
_EXECUTE = 0x4
_WRITE = 0x2


def read_macho(path: str, source: str | bytes, content: memoryview) -> Image:
    """Turn a Mach-O file, or the first known slice of a fat one, into an image.

    Raises:
        InputError: It holds no slice of a known architecture, is encrypted, or an object: its relocations are not read.
    """
    fat = lief.MachO.parse(source)
    if fat is None or fat.size == 0:
        raise InputError("a Mach-O file whose header cannot be parsed", where=path)
    slices = ((b, for_machine("macho", enum_name(b.header.cpu_type))) for b in fat)
    binary, architecture = next(((b, a) for b, a in slices if a is not None), (None, None))
    if binary is None or architecture is None:
        found = ", ".join(sorted(enum_name(b.header.cpu_type) for b in fat))
        raise InputError(f"a Mach-O file for {found}", where=path, hint=f"known: {machines_known('macho')}")
    if binary.header.file_type == lief.MachO.Header.FILE_TYPE.OBJECT:
        what = "an object of Mach-O, whose relocations cannot be read"
        raise InputError(what, where=path, hint="link it to a program or library, or compile it as ELF")
    if binary.header.file_type == lief.MachO.Header.FILE_TYPE.DSYM:
        what = "debug information of a Mach-O file (dSYM), without its code"
        raise InputError(what, where=path, hint="name the program that it belongs to")
    encryption = binary.encryption_info
    if encryption is not None and encryption.crypt_id:
        what = "code that is encrypted, as its headers say (LC_ENCRYPTION_INFO)"
        raise InputError(what, where=path, hint="decrypt it first: a device decrypts it when it runs")
    content = content[binary.fat_offset :]
    data: list[Region] = []
    code: list[Region] = []
    stub_ranges: list[tuple[int, int]] = []
    for segment in binary.segments:
        raw = content[segment.file_offset : segment.file_offset + segment.file_size]
        protection = int(segment.init_protection)
        executable, writable = bool(protection & _EXECUTE), bool(protection & _WRITE)
        name, size = printable(segment.name), segment.virtual_size
        data.append(Region(name, segment.virtual_address, raw, size, executable, writable))
        for section in segment.sections:
            if not (section.has(_FLAGS.PURE_INSTRUCTIONS) or section.has(_FLAGS.SOME_INSTRUCTIONS)):
                continue
            part = content[section.offset : section.offset + section.size]
            code.append(
                Region(printable(section.name), section.virtual_address, part, len(part), True, writable)
            )
            if section.type == _TYPE.SYMBOL_STUBS:
                stub_ranges.append((section.virtual_address, section.virtual_address + len(part)))
    image = Image(
        path=path,
        format="macho",
        architecture=architecture.name,
        big_endian=False,
        fixed_base=False,
        code=[region for region in code if region.data],
        data=data,
        stub_ranges=stub_ranges,
    )
    ends = [segment.file_offset + segment.file_size for segment in binary.segments]
    commands = (32 if architecture.pointer_size == 8 else 28) + binary.header.sizeof_cmds
    remark_cut(image, max([*ends, commands]), len(content))
    _read_functions(binary, image)
    _read_what_was_taken_out(path, binary, image)
    _read_stubs(binary, image)
    return image


def _read_functions(binary: lief.MachO.Binary, image: Image) -> None:
    starts: set[int] = set()
    table = binary.function_starts
    if table is not None:
        starts.update(binary.imagebase + offset for offset in table.functions)
    for symbol in binary.symbols:
        placed = symbol.raw_type & (_DEBUG | _KIND) == _IN_SECTION
        if placed and image.code_map.at(symbol.value) is not None and not image.in_stubs(symbol.value):
            name = printable(symbol.name)
            image.symbols.append(Symbol(name.removeprefix("_"), symbol.value, 0))
    # Starts only: a function may end before the next one begins, with its jump tables in between.
    image.unwind = [UnwindRange(s, s) for s in sorted(starts) if image.code_map.at(s) is not None]
    if binary.has_entrypoint and image.code_map.at(binary.entrypoint) is not None:
        image.entries.append(binary.entrypoint)


def _read_what_was_taken_out(path: str, binary: lief.MachO.Binary, image: Image) -> None:
    if binary.uuid is None:
        return
    found = names_from_dsym(split_member(path)[0], bytes(binary.uuid.uuid))
    named = [symbol for symbol in found.names or () if not image.in_stubs(symbol.address)]
    take_up(image, found, named)


def _read_stubs(binary: lief.MachO.Binary, image: Image) -> None:
    """Stub and pointer sections hold one entry per name of the indirect symbol table, in its order."""
    table = binary.dynamic_symbol_command
    if table is None:
        return
    names = [printable(symbol.name).removeprefix("_") for symbol in table.indirect_symbols]
    for section in binary.sections:
        if section.type == _TYPE.SYMBOL_STUBS:
            step, target = section.reserved2, image.stubs
        elif section.type in (_TYPE.LAZY_SYMBOL_POINTERS, _TYPE.NON_LAZY_SYMBOL_POINTERS):
            step, target = 8, image.slots
        else:
            continue
        if step <= 0:
            continue
        first = section.reserved1
        for index in range(min(section.size // step, len(names) - first)):
            target[section.virtual_address + index * step] = names[first + index]
