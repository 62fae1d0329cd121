"""ELF files without section headers: the same functions, and calls of other files as such."""

import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.elf_bare import find_stubs, without_stubs
from weft.bcsd.read.image import Image, Region, UnwindRange
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
