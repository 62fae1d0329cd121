"""Unwind tables: equal to symbols on real files, quiet on any bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.bcsd.disassemble.bounds import known_bounds
from weft.bcsd.read import open_image
from weft.bcsd.read.image import Image, Region, Symbol, UnwindRange
from weft.bcsd.read.unwind import read_eh_frame, read_exidx


@pytest.mark.parametrize(
    "name", ["gcc-O0-x86_64.so", "gcc-O2-aarch64.so", "clang-O2-x86_64.so", "clang-O3-aarch64.so"]
)
def test_unwind_ranges_are_the_sized_symbols(files, name):
    image = open_image(files / name)
    ranges = {(r.start, r.end) for r in image.unwind}
    sized = {(s.address, s.address + s.size) for s in image.symbols if s.size}
    assert ranges == sized


def test_a_split_off_part_is_told_from_a_function(files):
    image = open_image(files / "gcc-O2-fixed-x86_64")
    cold = {s.address for s in image.symbols if s.name.endswith(".cold")}
    parts = {r.start for r in image.unwind if r.part}
    # Only a part whose frame is set up elsewhere shows in the table; no whole function ever does.
    assert parts <= cold


@settings(deadline=None, max_examples=80)
@given(st.binary(max_size=300), st.sampled_from([4, 8]), st.booleans())
def test_any_bytes_end_quietly(data, pointer_size, big_endian):
    for found in read_eh_frame(data, 0x4000, pointer_size=pointer_size, big_endian=big_endian):
        assert found.end > found.start
    assert len(read_exidx(data, 0x4000, big_endian=big_endian)) == len(data) // 8


def test_a_truncated_table_gives_what_stands_before_the_cut(files):
    image = open_image(files / "gcc-O0-x86_64.so")
    binary = (files / "gcc-O0-x86_64.so").read_bytes()
    import lief

    parsed = lief.ELF.parse(str(files / "gcc-O0-x86_64.so"))
    section = parsed.get_section(".eh_frame")
    data = binary[section.file_offset : section.file_offset + section.size]
    whole = read_eh_frame(data, section.virtual_address, pointer_size=8, big_endian=False)
    half = read_eh_frame(data[: len(data) // 2], section.virtual_address, pointer_size=8, big_endian=False)
    assert len(whole) > len(image.unwind) - 1
    assert 0 < len(half) < len(whole)
    assert half == whole[: len(half)]


@pytest.mark.parametrize(
    ("ranges", "others", "sizes"),
    [
        # A symbol's size leads over a function behind its range: neither that one nor those without a name are lost.
        ([(0, 6), (16, 6), (32, 6)], [(16, 6), (48, 0)], {0: 6, 16: 6, 32: 6, 48: 0}),
        # Ranges without a symbol are pieces of it, as in glibc's clone; so is an entry within its range, as in GMP.
        ([(0, 6), (16, 6)], [], {0: 64}),
        ([(0, 64)], [(16, 48)], {0: 64, 16: 48}),
        ([], [(16, 6)], {0: 64, 16: 6}),
    ],
)
def test_a_symbol_whose_size_swallows_others_has_that_of_its_range(ranges, others, sizes):
    code = Region(".text", 0x1000, memoryview(bytes(80)), 80, True, False)
    image = Image("made", "elf", "x86_64", False, True, [code], [code])
    image.symbols = [Symbol(f"f{at}", 0x1000 + at, size) for at, size in [(0, 64), *others]]
    image.unwind = [UnwindRange(0x1000 + at, 0x1000 + at + size) for at, size in ranges]
    assert {b.start - 0x1000: b.end - b.start for b in known_bounds(image)} == sizes
