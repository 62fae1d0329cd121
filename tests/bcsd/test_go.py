"""Go's table of functions, in each of its four forms, in files that are stripped of all other names."""

from __future__ import annotations

import random
import struct

import pytest

from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.go import add_go_functions
from weft.bcsd.read.image import Image, Region, Symbol

FORMS = {"1.2": 0xFFFFFFFB, "1.16": 0xFFFFFFFA, "1.18": 0xFFFFFFF0, "1.20": 0xFFFFFFF1}
TEXT, TABLE = 0x401000, 0x500000
#: Offset, length without filling, name. The second one ends in a jump by -52, whose last byte is that of a breakpoint.
FUNCTIONS = [(64 * n, 52 if n == 1 else 20 + n, f"main.(*T[...]).f{n}") for n in range(10)]
END = 64 * len(FUNCTIONS)


def code() -> bytes:
    """Functions that return a number each, filled up to 64 bytes."""
    parts: list[bytes] = []
    for number, (_, length, _) in enumerate(FUNCTIONS):
        body = b"\xb8" + struct.pack("<I", 1000 + number)
        tail = b"\xeb\xcc" if length == 52 else b"\xc3"
        parts.append((body + b"\x90" * (length - len(body) - len(tail)) + tail).ljust(64, b"\xcc"))
    return b"".join(parts)


def table(form: str, word: int = 8, order: str = "<", text: int = TEXT) -> bytes:
    """What Go's linker writes, as ``debug/gosym`` reads it."""
    letter = {4: "I", 8: "Q"}[word]
    names, places = bytearray(b"\0"), []
    for _, _, name in FUNCTIONS:
        places.append(len(names))
        names += name.encode() + b"\0"
    relative = form in ("1.18", "1.20")
    size, kind = (4, "I") if relative else (word, letter)
    rows = (2 * len(FUNCTIONS) + 1) * size
    base = 0 if relative else text
    head = struct.pack(f"{order}IBBBB", FORMS[form], 0, 0, 1, word)
    apart = 8 if form == "1.16" else 8 + word if relative else 0
    before = 8 + word if form == "1.2" else len(head) + (7 * word if form == "1.16" else 8 * word)
    begin = before if form == "1.2" else 0
    if form == "1.2":
        places = [before + rows + place for place in places]
    records, offsets = bytearray(), []
    for (start, _, _), place in zip(FUNCTIONS, places, strict=True):
        extra = rows + (len(names) if form == "1.2" else 0)
        offsets.append(begin + extra + len(records))
        records += struct.pack(f"{order}{kind}i", base + start, place) + bytes(8)
    pairs = [n for (start, _, _), at in zip(FUNCTIONS, offsets, strict=True) for n in (base + start, at)]
    functab = struct.pack(f"{order}{2 * len(FUNCTIONS) + 1}{kind}", *pairs, base + END)
    if not apart:
        return (
            head + struct.pack(f"{order}{letter}", len(FUNCTIONS)) + functab + bytes(names) + bytes(records)
        )
    # The last offset, of the table itself, stands behind the names here.
    words = [len(FUNCTIONS), 0, *([text] if relative else []), before, 0, 0, 0, before + len(names)]
    return (
        head + struct.pack(f"{order}{len(words)}{letter}", *words) + bytes(names) + functab + bytes(records)
    )


def image(content: bytes, architecture: str = "x86_64", *, big: bool = False) -> Image:
    text = Region("", TEXT, memoryview(code()), END, True, False)
    data = Region("", TABLE, memoryview(b"\xff" * 5 + content), len(content) + 5, False, False)
    return Image("a", "elf", architecture, big, True, [text], [text, data])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("architecture", "word", "big"),
    [("x86_64", 8, False), ("aarch64", 8, False), ("arm", 4, False), ("mips", 4, True), ("mips64", 8, True)],
)
def test_each_form_gives_starts_lengths_and_names(form, architecture, word, big):
    found = image(table(form, word, ">" if big else "<"), architecture, big=big)
    add_go_functions(found)
    filled = architecture == "x86_64"
    assert found.symbols == [
        Symbol(name, TEXT + start, length if filled else 64) for start, length, name in FUNCTIONS
    ]


def test_a_stripped_file_has_its_functions(tmp_path):
    content = code() + table("1.20", text=TEXT)
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, TEXT, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    head += struct.pack("<IIQQQQQQ", 1, 5, 120, TEXT, TEXT, len(content), len(content), 4096)
    path = tmp_path / "program"
    path.write_bytes(head + content)
    functions = list(NativeDisassembler().functions(open_image(path)))
    named = [f for f in functions if f.name.startswith("main.")]
    assert [(f.name, f.address - TEXT, f.size) for f in named] == [(n, s, size) for s, size, n in FUNCTIONS]
    assert not any("discovered" in f.flags for f in named)


def test_symbols_keep_their_names_and_get_lengths():
    found = image(table("1.18"))
    found.symbols = [
        Symbol("runtime.text", TEXT, 0),
        Symbol("main.(*T[int]).f1", TEXT + 64, 0),
        Symbol("main.sized", TEXT + 128, 30),
    ]
    add_go_functions(found)
    assert found.symbols[:3] == [
        Symbol("main.(*T[int]).f1", TEXT + 64, 0),
        Symbol("main.sized", TEXT + 128, 30),
        Symbol(FUNCTIONS[0][2], TEXT, 20),
    ]
    assert Symbol("main.(*T[int]).f1", TEXT + 64, 52) in found.symbols
    assert [s.name for s in found.symbols if s.address == TEXT + 128] == ["main.sized"]


def test_a_damaged_table_is_no_error_and_names_nothing_outside_of_code():
    draw = random.Random(3)
    for form in FORMS:
        whole = table(form)
        for _ in range(200):
            damaged = bytearray(whole[: draw.choice((len(whole), draw.randrange(len(whole))))])
            for _ in range(draw.randrange(4)):
                if len(damaged) > 8:
                    damaged[draw.randrange(8, len(damaged))] = draw.choice((0, 1, 127, 255))
            found = image(bytes(damaged))
            add_go_functions(found)
            assert all(TEXT <= s.address < TEXT + END and s.name for s in found.symbols)


def test_a_table_for_another_place_is_passed_over():
    found = image(table("1.20", text=0x900000))
    add_go_functions(found)
    assert found.symbols == []
