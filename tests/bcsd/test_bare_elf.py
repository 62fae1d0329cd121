"""ELF files without section headers: the same functions, and calls of other files as such."""

from dataclasses import replace

import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.elf_bare import find_stubs, without_stubs, without_tables
from weft.bcsd.read.elf_view import Segment, View
from weft.bcsd.read.image import Image, Region, UnwindRange
from weft.bcsd.read.unwind import search_eh_frame
from weft.bcsd.represent import Normaliser

BASE, SLOT = 0x1000, 0x3000
X86 = architecture_named("x86_64")


def bare(content: bytes) -> bytes:
    """The file without the place, size and number of its section headers."""
    cut = bytearray(content)
    wide = cut[4] == 2
    for at, size in ((40, 8), (58, 6)) if wide else ((32, 4), (46, 6)):
        cut[at : at + size] = bytes(size)
    return bytes(cut)


def tokens_of(path):
    image = open_image(path)
    normaliser = Normaliser(image.architecture)
    functions = NativeDisassembler().functions(image)
    return {f.address: normaliser.tokens(f).tolist() for f in functions}, image


@pytest.mark.parametrize(
    "name", ["gcc-O2-x86_64-stripped.so", "gcc-O2-aarch64-stripped.so", "clang-O3-aarch64.so"]
)
def test_a_file_without_section_headers_has_the_same_functions(files, tmp_path, name):
    # Names in .symtab go with the headers.
    whole = tmp_path / "whole.so"
    whole.write_bytes((files / name).read_bytes())
    (tmp_path / "bare.so").write_bytes(bare(whole.read_bytes()))
    expected, image = tokens_of(whole)
    found, cut = tokens_of(tmp_path / "bare.so")
    assert cut.stubs == image.stubs
    assert found.keys() <= expected.keys()
    assert len(found) > 15
    assert all(found[address] == expected[address] for address in found)


def image_of(code: str, architecture="x86_64") -> Image:
    held = bytes.fromhex(code.replace(" ", ""))
    region = Region("", BASE, memoryview(held), len(held), True, False)
    return Image("made", "elf", architecture, False, False, [region], [region], slots={SLOT: "f"})


def test_a_jump_through_a_slot_at_the_end_of_a_function_is_no_stub():
    # sixteen nops; jmp [rip + SLOT]; int3: at a place where stubs begin, but the bytes in front are a function's.
    body = "90" * 16 + "ff25 ea1f0000"
    image = image_of(body)
    find_stubs(image, X86)
    assert image.stubs == {BASE + 16: "f"}
    function = UnwindRange(BASE, BASE + 22)
    assert without_stubs(image, [function], X86) == [function]


def test_a_range_that_a_linker_writes_for_its_stubs_is_none_of_a_function():
    # push [rip]; jmp [rip]; nop, then jmp [rip + SLOT]; push 0; jmp back
    image = image_of("ff3500000000 ff2500000000 0f1f4000 ff25 ea1f0000 6800000000 e9e0ffffff")
    find_stubs(image, X86)
    assert image.stubs == {BASE + 16: "f"}
    assert without_stubs(image, [UnwindRange(BASE, BASE + 32)], X86) == []
    assert image.in_stubs(BASE)
    # What is a function by itself ends where it does, and is none of the linker's.
    image = image_of("ff25 fa1f0000")
    find_stubs(image, X86)
    alone = UnwindRange(BASE, BASE + 6)
    assert without_stubs(image, [alone], X86) == [alone]
    assert not image.stubs
    assert not image.in_stubs(BASE)


def without_segment(content: bytes, kind: int) -> bytes:
    """The file with the program headers of a kind made into none (PT_NULL)."""
    cut = bytearray(content)
    wide = cut[4] == 2
    at, size, count = (32, 56, 56) if wide else (28, 32, 44)
    table = int.from_bytes(cut[at : at + (8 if wide else 4)], "little")
    for place in range(table, table + size * int.from_bytes(cut[count : count + 2], "little"), size):
        if int.from_bytes(cut[place : place + 4], "little") == kind:
            cut[place : place + 4] = bytes(4)
    return bytes(cut)


@pytest.mark.parametrize("name", ["gcc-O2-x86_64-stripped.so", "gcc-O2-aarch64-stripped.so"])
def test_an_unwind_table_that_nothing_leads_to_is_found_by_its_form(files, tmp_path, name):
    # As in a static program: its linker writes no PT_GNU_EH_FRAME.
    content = (files / name).read_bytes()
    (tmp_path / "bare.so").write_bytes(bare(content))
    (tmp_path / "static.so").write_bytes(bare(without_segment(content, 0x6474E550)))
    expected, whole = tokens_of(tmp_path / "bare.so")
    found, image = tokens_of(tmp_path / "static.so")
    assert image.unwind == whole.unwind
    assert found == expected


def eh_frame(ranges: list[tuple[int, int]], base: int, version: int) -> bytes:
    """Records with one common entry for all: pointers of four bytes, from where they stand."""
    common = b"\0\0\0\0" + bytes([version]) + b"zR\0\x01\x7c\x01\x01\x1b" + bytes(3)
    data = len(common).to_bytes(4, "little") + common
    for start, size in ranges:
        place = base + len(data) + 8
        body = (len(data) + 4).to_bytes(4, "little") + (start - place).to_bytes(4, "little", signed=True)
        data += (16).to_bytes(4, "little") + body + size.to_bytes(4, "little") + bytes(4)
    return data + bytes(4)


@pytest.mark.parametrize("version", [1, 3])
def test_of_what_looks_like_an_unwind_table_what_tells_of_code_is_taken(version):
    ranges = [(BASE, 8), (BASE + 8, 8), (BASE + 16, 8)]
    astray = eh_frame([(BASE + 0x900000 + 16 * n, 8) for n in range(9)], 0x8000, version)
    table = eh_frame(ranges, 0x8000 + len(astray) + 4, version)
    data = astray + b"\1\0\0\0" + table
    code = Region("", BASE, memoryview(bytes(24)), 24, True, False)
    image = Image(
        "made",
        "elf",
        "x86_64",
        False,
        True,
        [code],
        [Region("", 0x8000, memoryview(data), len(data), False, False)],
    )
    assert search_eh_frame(image) == (0x8000 + len(astray) + 4, table)
    image.data = image.data[:0]
    del image.data_map
    assert search_eh_frame(image) is None


def view_of(region: Region) -> View:
    """Of a static program whose note stands in front of its code."""
    note = Segment(4, 4, 0, region.start, 4, 4)
    return View("MIPS", 32, False, 2, region.start, 0, [note], [], [], [], {})


@pytest.mark.parametrize(
    ("sizes", "end", "told"), [([40, 40], 84, False), ([10, 10], 200, True), ([], 200, True)]
)
def test_code_ends_with_the_unwind_ranges_where_nearly_all_of_it_is_in_one(sizes, end, told):
    held = b"\x7fELF" + bytes(196)
    region = Region("", BASE, memoryview(held), len(held), True, False)
    image = Image("made", "elf", "mips", False, True, [region], [region])
    starts = range(BASE + 4, BASE + 200, 40)
    image.unwind = [UnwindRange(start, start + size) for start, size in zip(starts, sizes, strict=False)]
    cut = without_tables(image, view_of(region), architecture_named("mips"))
    assert cut.code[0].end == BASE + end
    assert any("where its code ends" in remark for remark in cut.remarks) == told


def riscv(*halves: int) -> bytes:
    return b"".join(half.to_bytes(2, "little") for half in halves)


FRAME, RETURN, NOP = 0x1101, 0x8082, 0x0001


def call(distance: int) -> bytes:
    """``jal ra, distance``."""
    bits = (distance >> 20 & 1) << 31 | (distance >> 1 & 0x3FF) << 21 | (distance >> 11 & 1) << 20
    return (bits | (distance >> 12 & 0xFF) << 12 | 0xEF).to_bytes(4, "little")


@pytest.mark.parametrize("few", [False, True])
def test_where_calls_name_what_they_call_code_is_as_far_as_they_lead(few):
    # Constants in front; what begins the program calls 60 bytes ahead; one behind that, which only a pointer leads to,
    # sets its frame up; strings.
    front = b"\x7fELF" + b"\x18\x30\x01\0\0\0\0\0" * 2
    begin = riscv(FRAME) + call(58) + riscv(RETURN)
    body = begin + riscv(NOP) * 26 + riscv(FRAME, RETURN) + riscv(NOP, FRAME, NOP, RETURN)
    held = front + body + b"neither code, but text that can be decoded" * 3
    region = Region("", BASE, memoryview(held), len(held), True, False)
    image = Image("made", "elf", "riscv64", False, True, [region], [region])
    entry = BASE + len(front)
    # An unwind table of the first function alone tells nothing of the others.
    image.unwind = [UnwindRange(entry, entry + len(begin))] if few else []
    view = replace(view_of(region), machine="RISCV", bits=64, entry=entry)
    cut = without_tables(image, view, architecture_named("riscv64"))
    assert (cut.code[0].start, cut.code[0].end) == (entry, entry + len(body))
    assert bytes(cut.code[0].data) == body
    assert any("its calls lead" in remark for remark in cut.remarks)
    # What calls a library is not known, whatever its header says of an entry.
    library = without_tables(replace(image, remarks=[]), replace(view, type=3), architecture_named("riscv64"))
    assert not any("its calls lead" in remark for remark in library.remarks)
