"""Function ranges from unwind tables: ``.eh_frame`` and ``.ARM.exidx``, read without trust.

A stripped file keeps these, because the program needs them at run time. Both readers stop quietly at the
first record that contradicts itself: what was read before it is still true.

Source: Linux Standard Base 5.0, "Exception Frames"; DWARF 5 §6.4; ARM IHI 0038, §5 "Index table entries".
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from weft.bcsd.read.image import Image, UnwindRange

_ABSOLUTE_POINTER = 0x00
_OMITTED = 0xFF
_PC_RELATIVE = 0x10
_VALUE_SIZES = {0x02: 2, 0x03: 4, 0x04: 8, 0x0A: 2, 0x0B: 4, 0x0C: 8}

# How a common entry goes on behind its length: no identifier, version 1 or 3, an augmentation whose length is told.
_COMMON = re.compile(rb"\0\0\0\0[\x01\x03]z[A-Z]*\0")
# Records that are found by their form count from so many on, where so large a share of them is about code.
_FEWEST, _TOLD = 2, 0.9

# Call-frame instructions that move to a later address: what stands before the first one holds at the entry.
_ADVANCES = frozenset({0x01, 0x02, 0x03, 0x04})
# Call-frame instructions that say where the caller's frame is.
_DEFINES_FRAME = frozenset({0x0C, 0x0D, 0x0E, 0x0F, 0x12, 0x13})


@dataclass(frozen=True, slots=True)
class _Common:
    """What a common information entry says about the entries that name it."""

    pointer_encoding: int
    has_augmentation: bool
    signal_frame: bool


class _Cursor:
    """Reads integers from a bounded buffer; running over its end raises ``IndexError`` or ``struct.error``."""

    def __init__(self, data: bytes, position: int, end: int, order: str) -> None:
        self.data = data
        self.position = position
        self.end = end
        self.order = order

    def fixed(self, size: int, *, signed: bool = False) -> int:
        if self.position + size > self.end:
            raise IndexError("record runs over its end")
        raw = self.data[self.position : self.position + size]
        self.position += size
        return int.from_bytes(raw, "big" if self.order == ">" else "little", signed=signed)

    def leb128(self) -> int:
        """An unsigned LEB128; a signed one is skipped the same way, since its value is never needed."""
        value = shift = 0
        while True:
            byte = self.fixed(1)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise IndexError("LEB128 longer than 64 bits")


def _encoded(cursor: _Cursor, encoding: int, base: int, pointer_size: int) -> int | None:
    """One encoded pointer; ``base`` is the address of the buffer's first byte. None where it is omitted."""
    if encoding == _OMITTED:
        return None
    place = base + cursor.position
    form = encoding & 0x0F
    if form == _ABSOLUTE_POINTER:
        value = cursor.fixed(pointer_size)
    elif form in (0x01, 0x09):
        value = cursor.leb128()
    elif form in _VALUE_SIZES:
        value = cursor.fixed(_VALUE_SIZES[form], signed=form >= 0x08)
    else:
        raise IndexError(f"pointer encoding {encoding:#x}")
    if encoding & 0x70 == _PC_RELATIVE:
        value += place
    return value & ((1 << (8 * pointer_size)) - 1)


def _read_common(cursor: _Cursor, base: int, pointer_size: int) -> _Common:
    version = cursor.fixed(1)
    start = cursor.position
    terminator = cursor.data.index(b"\0", start, cursor.end)
    augmentation = cursor.data[start:terminator]
    cursor.position = terminator + 1
    if augmentation.startswith(b"eh"):
        cursor.fixed(pointer_size)
    cursor.leb128()
    cursor.leb128()
    if version == 1:
        cursor.fixed(1)
    else:
        cursor.leb128()
    encoding = _ABSOLUTE_POINTER
    if augmentation.startswith(b"z"):
        cursor.leb128()
        for letter in augmentation[1:]:
            if letter == ord("R"):
                encoding = cursor.fixed(1)
            elif letter == ord("L"):
                cursor.fixed(1)
            elif letter == ord("P"):
                _encoded(cursor, cursor.fixed(1), base, pointer_size)
    return _Common(encoding, augmentation.startswith(b"z"), b"S" in augmentation)


def _starts_inside_frame(instructions: bytes) -> bool:
    """Whether the frame is defined before the first address advance: true of a split-off part only."""
    position = 0
    while position < len(instructions):
        opcode = instructions[position]
        if opcode & 0xC0 == 0x40 or opcode in _ADVANCES:
            return False
        if opcode in _DEFINES_FRAME or opcode & 0xC0 == 0x80:
            return True
        if opcode != 0:
            # Any other instruction carries operands of varying length and says nothing about a split.
            return False
        position += 1
    return False


def read_eh_frame(data: bytes, base: int, *, pointer_size: int, big_endian: bool) -> list[UnwindRange]:
    """The code ranges of an ``.eh_frame`` section.

    Args:
        data: The section's bytes.
        base: Its address.
        pointer_size: 4 or 8.
        big_endian: The file's byte order.

    Returns:
        One range per frame description entry with a size, in the order of the section.
    """
    return _read_records(data, base, pointer_size, big_endian)[0]


def _read_records(
    data: bytes, base: int, pointer_size: int, big_endian: bool, position: int = 0
) -> tuple[list[UnwindRange], int]:
    """The ranges of the records from ``position`` on, and where what is no record begins."""
    order = ">" if big_endian else "<"
    ranges: list[UnwindRange] = []
    commons: dict[int, _Common] = {}
    while position + 4 <= len(data):
        (length,) = struct.unpack_from(f"{order}I", data, position)
        body = position + 4
        if length == 0:
            # A terminator of one input file; a linked section may hold more after it.
            position = body
            continue
        if length == 0xFFFFFFFF:
            if body + 8 > len(data):
                break
            (length,) = struct.unpack_from(f"{order}Q", data, body)
            body += 8
        end = body + length
        if end > len(data) or length < 4:
            break
        cursor = _Cursor(data, body, end, order)
        try:
            identifier = cursor.fixed(4)
            if identifier == 0:
                commons[position] = _read_common(cursor, base, pointer_size)
            else:
                common = commons.get(body - identifier)
                if common is not None:
                    found = _read_description(cursor, common, base, pointer_size)
                    if found is not None:
                        ranges.append(found)
        except (IndexError, ValueError):
            break
        position = end
    return ranges, position


def _read_description(cursor: _Cursor, common: _Common, base: int, pointer_size: int) -> UnwindRange | None:
    start = _encoded(cursor, common.pointer_encoding, base, pointer_size)
    size = _encoded(cursor, common.pointer_encoding & 0x0F, base, pointer_size)
    if not start or not size:
        return None
    if common.has_augmentation:
        cursor.position += cursor.leb128()
    if common.signal_frame:
        # The range of a signal trampoline begins one byte early, so that an unwinder that looks up
        # "return address - 1" finds it.
        return None
    instructions = cursor.data[cursor.position : cursor.end]
    return UnwindRange(start, start + size, part=_starts_inside_frame(instructions))


def read_exidx(data: bytes, base: int, *, big_endian: bool) -> list[UnwindRange]:
    """Function starts of an ``.ARM.exidx`` section: each range has ``end == start``, since it holds no sizes."""
    order = ">" if big_endian else "<"
    ranges: list[UnwindRange] = []
    for position in range(0, len(data) - 7, 8):
        (word,) = struct.unpack_from(f"{order}I", data, position)
        offset = word - (1 << 31) if word & 0x40000000 else word
        start = (base + position + offset) & 0xFFFFFFFE
        ranges.append(UnwindRange(start, start))
    return ranges


def find_eh_frame(image: Image, header: int | None) -> tuple[int, bytes] | None:
    """``.eh_frame`` by way of its header (``PT_GNU_EH_FRAME``), for files without section headers."""
    if header is None:
        return None
    head = image.read(header, 16)
    if len(head) < 16 or head[0] != 1:
        return None
    cursor = _Cursor(head, 4, len(head), ">" if image.big_endian else "<")
    try:
        start = _encoded(cursor, head[1], header, image.pointer_size)
    except IndexError:
        return None
    region = image.data_map.at(start) if start else None
    if start is None or region is None:
        return None
    return start, bytes(region.data[start - region.start :])


def search_eh_frame(image: Image) -> tuple[int, bytes] | None:
    """``.eh_frame`` by the form of its records, for files that neither section headers nor a segment lead to it in.

    Linkers write ``PT_GNU_EH_FRAME`` for no static program. Of all stretches of records the one that tells of most
    functions is it.
    """
    best: tuple[int, int, bytes] | None = None
    for region in image.data_map.regions:
        data = bytes(region.data)
        reached = 0
        for found in _COMMON.finditer(data):
            at = found.start() - 4
            if at < reached or at % 4:
                continue
            ranges, end = _read_records(data, region.start, image.pointer_size, image.big_endian, at)
            reached = max(end, at + 4)
            told = sum(image.code_map.at(one.start) is not None for one in ranges)
            enough = told >= _FEWEST and told >= _TOLD * len(ranges)
            if enough and (best is None or told > best[0]):
                best = told, region.start + at, data[at:]
    return best and best[1:]
