"""Two tables of a PE file, read without trust: what it imports, and its exception directory.

What of them cannot be read is told in a remark, and the rest goes on.

Source: Microsoft, "PE Format": "The .idata Section", "The .pdata Section".
"""

from __future__ import annotations

import struct

import lief

from weft.bcsd.architectures import architecture_named
from weft.bcsd.read.image import Image
from weft.bcsd.read.names import printable

_WHERE = lief.PE.DataDirectory.TYPES
_SECTION = ".pdata"
#: An entry of the import directory: where its lookup table is, two words, where its name and its slots are.
_LIBRARY = struct.Struct("<5I")
#: Libraries that are counted; no program asks for so many.
_MOST = 1 << 12


def read_imports(binary: lief.PE.Binary, image: Image, base: int) -> None:
    """Put the slots of imports, each with its name, into the image; ``base`` is what places count from."""
    named = 0
    for library in binary.imports:
        named += bool(library.entries)
        for entry in library.entries:
            name = printable(entry.name) if not entry.is_ordinal else f"ordinal {entry.ordinal}"
            image.slots[base + entry.iat_address] = name
    directory = binary.data_directory(_WHERE.IMPORT_TABLE)
    if directory is None or not directory.rva:
        return
    if not named and not image.read(base + directory.rva, 1):
        what = "lies outside of what the file holds"
    elif (told := _libraries(image, base + directory.rva)) > named:
        what = f"can be read of {named} of {told} libraries"
    else:
        return
    image.remarks.append(f"its import directory {what}: calls of what is missing have no names")


def _libraries(image: Image, place: int) -> int:
    """How many libraries an import directory tells of, as far as the file holds it."""
    for number in range(_MOST):
        entry = image.read(place + number * _LIBRARY.size, _LIBRARY.size)
        if len(entry) < _LIBRARY.size:
            return number
        *_, name, slots = _LIBRARY.unpack(entry)
        if not name or not slots:
            return number
    return _MOST


def read_exceptions(binary: lief.PE.Binary, image: Image, base: int) -> None:
    """Put the ranges of the exception directory into the image; ``base`` is what its places count from."""
    architecture = architecture_named(image.architecture)
    record = architecture.exception_record
    if not record:
        return
    directory = binary.data_directory(_WHERE.EXCEPTION_TABLE)
    what = ""
    if directory is not None and directory.size:
        table = image.read(base + directory.rva, directory.size)
        image.unwind = architecture.exceptions(image, table, base)
        told = sum(any(table[at : at + 4]) for at in range(0, len(table) - record + 1, record))
        if len(table) < directory.size:
            what = f"{len(table)} of {directory.size} bytes of its exception directory are in the file"
        elif told > len(image.unwind):
            what = f"{told - len(image.unwind)} of {told} records of its exception directory are of no code"
    elif any(region.name == _SECTION and any(region.data) for region in image.data):
        what = f"its headers name no exception directory, though it has a section {_SECTION}"
    if what:
        image.remarks.append(f"{what}: functions may be missing, or begin or end elsewhere")
