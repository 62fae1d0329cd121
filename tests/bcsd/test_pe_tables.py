"""Tables of programs of Windows: the exception directory of ARM64, and what is said where a table cannot be read.

The records are written here by Microsoft's description of them, which is not the reader's words.
"""

import struct

import pytest

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.image import UnwindRange

BASE, TEXT, RECORDS, LONGER = 0x140000000, 0x1000, 0x2000, 0x3000
PUSH, NOP, POP, RET = 0xA9BF7BFD, 0xD503201F, 0xA8C17BFD, 0xD65F03C0
ARM64 = 0xAA64


def program(code, records, longer=b"", directories=16, exceptions=None, imports=(0, 0)):
    """A PE file for ARM64 with one section of code, its exception directory and what that leads to."""
    sections = ((b".text", TEXT, code, 0x60000020), (b".pdata", RECORDS, records, 0x40000040))
    sections += ((b".xdata", LONGER, longer, 0x40000040),)
    optional = struct.pack("<HBBIIIII", 0x20B, 14, 0, 0x200, 0x400, 0, TEXT, TEXT)
    optional += struct.pack(
        "<QIIHHHHHHIIIIHH", BASE, 0x1000, 0x200, 6, 0, 0, 0, 6, 0, 0, 0x4000, 0x400, 0, 3, 0
    )
    optional += struct.pack("<QQQQII", 1 << 20, 1 << 12, 1 << 20, 1 << 12, 0, directories)
    places = [(0, 0)] * directories
    places[1] = imports
    if directories > 3:
        places[3] = (RECORDS, len(records)) if exceptions is None else exceptions
    optional += b"".join(struct.pack("<II", *place) for place in places)
    head = b"MZ" + bytes(58) + struct.pack("<I", 64) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", ARM64, len(sections), 0, 0, 0, len(optional), 0x22) + optional
    body, at = b"", 0x400
    for name, place, content, flags in sections:
        filled = content.ljust(-(-max(len(content), 1) // 0x200) * 0x200, b"\0")
        head += struct.pack(
            "<8sIIIIIIHHI", name, max(len(content), 1), place, len(filled), at, 0, 0, 0, 0, flags
        )
        body, at = body + filled, at + len(filled)
    return head.ljust(0x400, b"\0") + body


def words(*numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers)


def packed(kind, instructions):
    return instructions << 2 | kind


def longer(instructions, codes, epilogues=0, one=False, version=0):
    """A record of ``.xdata``."""
    codes = codes.ljust(-(-len(codes) // 4) * 4, b"\xe3")
    if epilogues < 32 and len(codes) // 4 < 32:
        head = words(
            instructions | version << 18 | one << 21 | epilogues << 22 | len(codes) // 4 << 27,
        )
    else:
        head = words(instructions | one << 21, epilogues | len(codes) // 4 << 16)
    return head + (b"" if one else words(*range(epilogues))) + codes


def opened(tmp_path, content):
    path = tmp_path / "made.exe"
    path.write_bytes(content)
    return open_image(path)


def ranges(tmp_path, records, longer=b""):
    image = opened(tmp_path, program(words(*[PUSH, NOP, POP, RET] * 16), records, longer))
    return [(r.start - BASE - TEXT, r.end - BASE - TEXT, r.part) for r in image.unwind]


def test_functions_that_nothing_calls_are_those_of_the_directory(tmp_path):
    # Nothing leads from one to another, and the second holds a return in its midst.
    code = words(PUSH, POP, RET, PUSH, POP, RET, NOP, POP, RET, PUSH, POP, RET)
    rest = longer(6, b"\x81\xe4", epilogues=2)
    records = words(TEXT, packed(1, 3), TEXT + 12, LONGER, TEXT + 36, packed(2, 3))
    image = opened(tmp_path, program(code, records, rest))
    found = [
        (f.address - BASE - TEXT, f.size, [str(flag) for flag in f.flags])
        for f in NativeDisassembler().functions(image)
    ]
    assert found == [(0, 12, []), (12, 24, []), (36, 12, ["part"])]
    assert image.unwind[1] == UnwindRange(BASE + TEXT + 12, BASE + TEXT + 36)


@pytest.mark.parametrize(
    ("record", "rest", "length", "part"),
    [
        (packed(1, 1), b"", 4, False),
        # Everything else that a packed word tells of is no length: registers, home, frame.
        (packed(1, 9) | 0xFFFFE000, b"", 36, False),
        (packed(2, 9) | 0xFFFFE000, b"", 36, True),
        (LONGER, longer(7, b"\x81\xe4"), 28, False),
        (LONGER, longer(7, b"\xe4", epilogues=3), 28, False),
        (LONGER, longer(7, b"\xe5\x81\xe4"), 28, True),
        (LONGER, longer(7, b"\xe5\x81\xe4", epilogues=3), 28, True),
        # The number of the only epilogue is where its codes begin: no word stands for it.
        (LONGER, longer(7, b"\xe5\x81\xe4", epilogues=2, one=True), 28, True),
        (LONGER, longer(7, b"\xe5".ljust(200, b"\x81"), epilogues=40), 28, True),
        (LONGER, longer(7, b"\x81".ljust(200, b"\xe5"), epilogues=40), 28, False),
    ],
)
def test_what_a_record_tells(tmp_path, record, rest, length, part):
    assert ranges(tmp_path, words(TEXT + 16, record), rest) == [(16, 16 + length, part)]


@pytest.mark.parametrize(
    ("begin", "record", "rest"),
    [
        (TEXT, packed(3, 4), b""),
        (TEXT, packed(1, 0), b""),
        (TEXT + 2, packed(1, 4), b""),
        (RECORDS, packed(1, 4), b""),
        (0x900000, packed(1, 4), b""),
        (TEXT, 0x900000, b""),
        (TEXT, LONGER, longer(0, b"\xe4")),
        (TEXT, LONGER, longer(4, b"\xe4", version=1)),
        (0, 0, b""),
    ],
)
def test_a_record_that_cannot_be_is_passed_over(tmp_path, begin, record, rest):
    assert ranges(tmp_path, words(begin, record, TEXT + 16, packed(1, 4)), rest) == [(16, 32, False)]


CODE = words(PUSH, NOP, POP, RET) * 16
ALL = words(TEXT, packed(1, 4), TEXT + 16, packed(1, 4))
ELSEWHERE = ": functions may be missing, or begin or end elsewhere"
NAMELESS = ": calls of what is missing have no names"


@pytest.mark.parametrize(
    ("records", "changes", "said"),
    [
        (ALL, {}, []),
        (ALL + bytes(24), {}, []),
        (
            ALL,
            {"exceptions": (0x7FFFFF00, 4096)},
            ["0 of 4096 bytes of its exception directory are in the file"],
        ),
        (ALL, {"exceptions": (RECORDS, 96)}, ["16 of 96 bytes of its exception directory are in the file"]),
        (
            ALL,
            {"exceptions": (0, 0)},
            ["its headers name no exception directory, though it has a section .pdata"],
        ),
        (
            ALL,
            {"directories": 3},
            ["its headers name no exception directory, though it has a section .pdata"],
        ),
        (b"", {"directories": 3}, []),
        (
            ALL + words(0x900000, packed(1, 4), TEXT, 0x900000),
            {},
            ["2 of 4 records of its exception directory are of no code"],
        ),
    ],
)
def test_an_exception_directory_that_cannot_be_read_is_told(tmp_path, records, changes, said):
    image = opened(tmp_path, program(CODE, records, **changes))
    assert image.remarks == [remark + ELSEWHERE for remark in said]


def importing(slots=LONGER + 0x40, name=LONGER + 0x60):
    """An import directory of two libraries, each with one function."""
    hint = b"\0\0read\0\0"
    table = b"".join(words(LONGER + 0x40, 0, 0, name, place) for place in (slots, LONGER + 0x50))
    table += bytes(24)
    for at in (LONGER + 0x70, 0, LONGER + 0x70, 0):
        table += struct.pack("<Q", at)
    return table + b"one.dll\0".ljust(16, b"\0") + hint


@pytest.mark.parametrize(
    ("rest", "place", "count", "said"),
    [
        (importing(), LONGER, 2, []),
        (importing(), 0x7FFFFF00, 0, ["its import directory lies outside of what the file holds"]),
        (importing(name=0x7FFFFF00), LONGER, 0, ["its import directory can be read of 0 of 2 libraries"]),
        (b"", 0, 0, []),
    ],
)
def test_an_import_directory_that_cannot_be_read_is_told(tmp_path, rest, place, count, said):
    image = opened(tmp_path, program(CODE, ALL, rest, imports=(place, 60 if place else 0)))
    assert list(image.slots.values()) == ["read"] * count
    assert image.remarks == [remark + NAMELESS for remark in said]


def test_a_file_that_is_cut_says_what_went_with_its_end(tmp_path):
    content = program(CODE, ALL)
    image = opened(tmp_path, content[: 0x400 + len(CODE)])
    assert [remark.split(":")[0] for remark in image.remarks] == [
        "cut short",
        "0 of 16 bytes of its exception directory are in the file",
    ]
