"""Function ranges from the exception directory of AArch64 programs of Windows.

A record has 8 bytes: where code begins, counted from the image's base, and a word whose two lowest bits say how the
rest is to be read. 0: the place of a longer record (``.xdata``), whose first word has the length. 1: the length is in
the word itself. 2: the same of a piece of a function, which sets up no frame of its own. 3 is nothing.

A longer record is of a piece where the first of its unwind codes is ``end_c``: what it describes was set up elsewhere.
Leaf functions have no record.

Source: Microsoft, "ARM64 exception handling": ".pdata records", ".xdata records", "Unwind codes".
"""

from __future__ import annotations

from weft.bcsd.read.image import Image, UnwindRange, unpack_words

_RECORD, _PIECE = 0, 2
#: Bytes of an instruction, in which lengths are counted.
_INSTRUCTION = 4
_PACKED_LENGTH, _LENGTH = 0x7FF, 0x3FFFF
#: In the first word of a longer record: its version, one epilogue told in the word itself, and from which bits on the
#: number of epilogues and of words of codes stand. Where both are 0, a second word has them.
_VERSION, _ONE_EPILOGUE, _EPILOGUES, _CODES, _FIVE_BITS = 0xC0000, 0x200000, 22, 27, 0x1F
_EPILOGUES_BEHIND = 0xFFFF
_END_C = b"\xe5"


def arm64_exceptions(image: Image, table: bytes, base: int) -> list[UnwindRange]:
    """The ranges of an exception directory, sorted; records that contradict themselves are passed over."""
    found: list[UnwindRange] = []
    words = unpack_words(table, 4, signed=False, big_endian=False)
    for begin, word in zip(words[::2], words[1::2], strict=False):
        if not begin:
            continue
        told = _longer(image, base + word) if word & 3 == _RECORD else _packed(word)
        start = base + begin
        if told is not None and start % _INSTRUCTION == 0 and image.code_map.at(start) is not None:
            length, part = told
            found.append(UnwindRange(start, start + length, part))
    return sorted(found, key=lambda each: (each.start, each.end))


def _packed(word: int) -> tuple[int, bool] | None:
    """How many bytes a word tells of, and whether they are a piece."""
    length = (word >> 2 & _PACKED_LENGTH) * _INSTRUCTION
    return (length, word & 3 == _PIECE) if length and word & 3 <= _PIECE else None


def _longer(image: Image, place: int) -> tuple[int, bool] | None:
    """The same of a longer record."""
    head = image.integer(place, 4)
    if head is None or head & _VERSION or not head & _LENGTH:
        return None
    epilogues, codes = head >> _EPILOGUES & _FIVE_BITS, head >> _CODES & _FIVE_BITS
    words = 1
    if not epilogues and not codes:
        epilogues, words = (image.integer(place + 4, 4) or 0) & _EPILOGUES_BEHIND, 2
    if not head & _ONE_EPILOGUE:
        words += epilogues
    return (head & _LENGTH) * _INSTRUCTION, image.read(place + 4 * words, 1) == _END_C
