"""PE (Windows): x86-64, i386 and ARM64; functions from exports, the COFF table and the exception directory."""

from __future__ import annotations

import lief

from weft.bcsd.read.elf import enum_name, printable
from weft.bcsd.read.image import ArchitectureName, Image, Region, Symbol, UnwindRange, unpack_words
from weft.errors import InputError

_ARCHITECTURES: dict[str, ArchitectureName] = {"AMD64": "x86_64", "I386": "i386", "ARM64": "aarch64"}
_EXECUTE = 0x20000000
_WRITE = 0x80000000
_CHAINED_UNWIND = 0x4


def read_pe(path: str, content: memoryview) -> Image:
    """Turn a PE file into an image.

    Raises:
        InputError: It is not a PE file of a known architecture.
    """
    binary = lief.PE.parse(path)
    if binary is None:
        raise InputError("a PE file whose header cannot be parsed", where=path)
    name = enum_name(binary.header.machine)
    architecture = _ARCHITECTURES.get(name)
    if architecture is None:
        known = ", ".join(sorted(_ARCHITECTURES.values()))
        raise InputError(f"a PE file for {name}", where=path, hint=f"known: {known}")
    base = binary.optional_header.imagebase
    data = [_region(section, content, base) for section in binary.sections]
    image = Image(
        path=path,
        format="pe",
        architecture=architecture,
        big_endian=False,
        # Code of 32-bit files names absolute addresses at the preferred base; so do jump tables.
        fixed_base=True,
        code=[region for region in data if region.executable and region.data],
        data=data,
    )
    _read_names(binary, image, base)
    _read_imports(binary, image, base)
    _read_exceptions(binary, image, base)
    entry = binary.optional_header.addressof_entrypoint
    starts = {base + entry} if entry else set()
    image.entries = sorted(address for address in starts if image.code_map.at(address) is not None)
    return image


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
    for function in binary.exported_functions:
        address = base + function.address
        if image.code_map.at(address) is not None:
            image.symbols.append(Symbol(printable(function.name), address, 0))


def _read_imports(binary: lief.PE.Binary, image: Image, base: int) -> None:
    for library in binary.imports:
        for entry in library.entries:
            name = printable(entry.name) if not entry.is_ordinal else f"ordinal {entry.ordinal}"
            image.slots[base + entry.iat_address] = name


def _read_exceptions(binary: lief.PE.Binary, image: Image, base: int) -> None:
    """x86-64: ``RUNTIME_FUNCTION`` entries of 12 bytes. A chained entry is a later part of a function."""
    if image.architecture != "x86_64":
        return
    directory = binary.data_directory(lief.PE.DataDirectory.TYPES.EXCEPTION_TABLE)
    if directory is None or directory.size == 0:
        return
    words = unpack_words(image.read(base + directory.rva, directory.size), 4, signed=False, big_endian=False)
    for index in range(0, len(words) - 2, 3):
        start, end, information = words[index : index + 3]
        if not start or end <= start or image.code_map.at(base + start) is None:
            continue
        head = image.read(base + information, 1)
        chained = bool(head) and bool(head[0] >> 3 & _CHAINED_UNWIND)
        image.unwind.append(UnwindRange(base + start, base + end, part=chained))
    image.unwind.sort(key=lambda found: (found.start, found.end))
