"""A fixed sample of the hostile campaign: 100 damaged files, each made again from its number."""

import struct
from pathlib import Path

import pytest

from weft.bcsd.read import open_image
from weft.bcsd.read.members import members_of
from weft.bench.bcsd.extraction import hostile
from weft.bench.bcsd.extraction.hostile import LIMITS, MUTATIONS, mutants, run_campaign
from weft.errors import InputError

BASES = sorted((Path(__file__).parent / "files").iterdir())


def test_a_hundred_damaged_files_harm_nothing():
    # One base per architecture and format, every kind of damage.
    bases = [path for path in BASES if "O2" in path.name and "stripped" not in path.name]
    campaign = run_campaign(bases, 100, workers=1)
    assert campaign.files == 100
    assert campaign.crashed == []
    assert campaign.over == []
    assert campaign.unclear == []
    assert campaign.slowest < LIMITS.seconds
    # Damage is survivable more often than not, and some of it is not.
    assert 30 < campaign.read < 100
    assert sum(campaign.reasons.values()) == 100 - campaign.read


def test_the_campaign_has_archives_and_fat_files_of_what_is_there(files, tmp_path, monkeypatch):
    monkeypatch.setattr(hostile, "_MADE", files)
    bases = hostile.other_files(tmp_path)
    made = [path for path in bases if path.parent == tmp_path]
    assert sorted(path.name for path in made) == ["made.a", "made.fat"]
    # Whole, they are read to the last member: what is damaged later is what a tool would have made.
    for path in made:
        assert hostile.extract_mutant(str(path)) > 0
        assert len(members_of(str(path))) >= 2


def test_mutants_are_the_same_every_time():
    one = [(m.number, m.kind, m.content) for m in mutants(BASES, 40)]
    two = [(m.number, m.kind, m.content) for m in mutants(BASES, 40)]
    assert one == two
    kinds = {m.kind for m in mutants(BASES, len(BASES) * len(MUTATIONS))}
    assert kinds == {mutation.__name__ for mutation in MUTATIONS}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an empty file"),
        (b"#!/bin/sh\necho no\n", "not an ELF, PE or Mach-O file"),
        (b"!<arch>\nsome archive", "an archive, no binary"),
        (b"!<arch>\n", "an archive, no binary: it holds no members"),
        (b"\x7fELF", "an ELF file whose header cannot be parsed"),
        (b"MZ" + bytes(100), "a PE file whose header cannot be parsed"),
        (b"\xcf\xfa\xed\xfe" + bytes(20), "a Mach-O file for ANY (known: aarch64, x86_64)"),
        (b"\xca\xfe\xba\xbe\x00\x00\x00\x41" + bytes(50), "not an ELF, PE or Mach-O file"),
    ],
)
def test_what_is_no_binary_is_named(tmp_path, content, message):
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        open_image(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 3


def test_missing_files_folders_and_other_machines(tmp_path, files):
    with pytest.raises(InputError, match="no such file"):
        open_image(tmp_path / "none")
    with pytest.raises(InputError, match=r"a folder, no binary \(name a file in it; `weft bcsd extract`"):
        open_image(tmp_path)
    content = bytearray((files / "gcc-O2-x86_64.so").read_bytes())
    foreign = tmp_path / "foreign"
    for machine, order, named in (
        (22, "little", r"S390 \(machine 22\)"),
        (43, "little", r"SPARCV9 \(machine 43\)"),
        (43, "big", r"SPARCV9 \(machine 43\)"),
        (94, "little", r"XTENSA \(machine 94\)"),
        (0x7777, "little", "the unknown machine 30583"),
    ):
        content[5] = 1 if order == "little" else 2
        content[18:20] = machine.to_bytes(2, order)
        foreign.write_bytes(content)
        with pytest.raises(InputError, match=rf"an ELF file for {named} \(known: aarch64"):
            open_image(foreign)
    content[5] = 1
    for machine, wide, flags, what in (
        (243, False, 0, "RISC-V of 32 bits"),
        (40, False, 0x00800000, "BE8"),
        (21, True, 1, "ELFv1"),
        (8, False, 0x60000025, "n32"),
        (8, False, 0x90001405, "release 6"),
        (8, True, 0xA0000005, "release 6"),
        (8, False, 0x72001005, "microMIPS"),
        (62, False, 0, "x32"),
        (183, False, 0, "ILP32"),
    ):
        variant = tmp_path / f"{machine}"
        variant.write_bytes(_variant(machine, wide, flags, big=machine in (40, 21, 8)))
        with pytest.raises(InputError, match=f"an ELF file for .*{what}.*not read"):
            open_image(variant)
    content[18:20] = (62).to_bytes(2, "little")
    content[16:18] = (4).to_bytes(2, "little")
    core = tmp_path / "core"
    core.write_bytes(content)
    with pytest.raises(InputError, match=r"an ELF file of type CORE.*the program and its libraries"):
        open_image(core)


def test_a_file_with_some_mips16_says_so(tmp_path):
    path = tmp_path / "mixed"
    path.write_bytes(_variant(8, False, 0x74001005, big=True))
    assert [remark for remark in open_image(path).remarks if "MIPS16" in remark]
    path.write_bytes(_variant(8, False, 0x70001005, big=True))
    assert not [remark for remark in open_image(path).remarks if "MIPS16" in remark]


def _variant(machine, wide, flags, big):
    """A program of four bytes of code in one segment."""
    order = ">" if big else "<"
    head = b"\x7fELF" + bytes((2 if wide else 1, 2 if big else 1, 1)) + bytes(9)
    size = 64 if wide else 52
    words = "HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH"
    place = 56 if wide else 32
    head += struct.pack(order + words, 2, machine, 1, 0x10000, size, 0, flags, size, place, 1, 0, 0, 0)
    end = size + place + 4
    fields = (1, 5, 0, 0x10000, 0x10000, end, end, 4) if wide else (1, 0, 0x10000, 0x10000, end, end, 5, 4)
    return head + struct.pack(order + ("IIQQQQQQ" if wide else "8I"), *fields) + bytes(4)


def test_a_mach_o_file_whose_header_tells_of_no_commands_has_no_code(tmp_path, files):
    content = bytearray((files / "clang-O2-x86_64.dylib").read_bytes())
    content[16:24] = bytes(8)
    bare = tmp_path / "bare.dylib"
    bare.write_bytes(content)
    with pytest.raises(InputError, match="no code in the file"):
        open_image(bare)


def test_packed_code_is_refused(tmp_path, files):
    import random

    content = bytearray((files / "gcc-O2-x86_64.so").read_bytes())
    import lief

    binary = lief.ELF.parse(str(files / "gcc-O2-x86_64.so"))
    text = binary.get_section(".text")
    # A section that says it is long, full of noise.
    noise = random.Random(1).randbytes(1 << 16)
    offset = len(content)
    content += noise
    import struct

    (headers,) = struct.unpack_from("<Q", content, 0x28)
    (count,) = struct.unpack_from("<H", content, 0x3C)
    (segments,) = struct.unpack_from("<Q", content, 0x20)
    (loads,) = struct.unpack_from("<H", content, 0x38)
    for number in range(count):
        place = headers + 64 * number
        if struct.unpack_from("<Q", content, place + 16)[0] == text.virtual_address:
            struct.pack_into("<QQQ", content, place + 16, 0x100000, offset, len(noise))
    # The stack's own entry becomes a loaded, executable segment.
    places = [segments + 56 * number for number in range(loads)]
    (place,) = [p for p in places if struct.unpack_from("<I", content, p)[0] == 0x6474E551]
    struct.pack_into("<II", content, place, 1, 5)
    struct.pack_into("<QQQQQ", content, place + 8, offset, 0x100000, 0x100000, len(noise), len(noise))
    packed = tmp_path / "packed.so"
    packed.write_bytes(content)
    with pytest.raises(InputError, match="looks packed or encrypted"):
        open_image(packed)
    upx = tmp_path / "upx"
    plain = bytearray((files / "gcc-O2-x86_64.so").read_bytes())
    plain[0x200:0x204] = b"UPX!"
    upx.write_bytes(plain)
    with pytest.raises(InputError, match="packed with UPX"):
        open_image(upx)


def test_a_function_of_a_million_instructions_takes_bounded_time(tmp_path):
    from weft.bcsd.disassemble.native import FUNCTION_INSTRUCTIONS, NativeDisassembler
    from weft.bcsd.read.image import Image, Region, Symbol

    code = b"\x90" * (3 << 20) + b"\xc3"
    region = Region(".text", 0x1000, memoryview(code), len(code), True, False)
    image = Image("huge", "elf", "x86_64", False, False, [region], [region])
    image.symbols = [Symbol("huge", 0x1000, len(code))]
    (function,) = NativeDisassembler().functions(image)
    assert "truncated" in function.flags
    assert len(function.instructions) == FUNCTION_INSTRUCTIONS


def test_overlapping_symbols_cannot_make_the_work_quadratic():
    from weft.bcsd.disassemble.native import NativeDisassembler
    from weft.bcsd.read.image import Image, Region, Symbol
    from weft.errors import LimitError

    code = b"\x90" * (1 << 19)
    region = Region(".text", 0x1000, memoryview(code), len(code), True, False)
    image = Image("overlapping", "elf", "x86_64", False, False, [region], [region])
    image.symbols = [Symbol(f"f{i}", 0x1000 + i, len(code) - i) for i in range(1000)]
    with pytest.raises(LimitError, match="symbols overlap"):
        for _ in NativeDisassembler().functions(image):
            pass


def test_a_function_that_grows_piece_by_piece_takes_time_in_proportion_to_its_length(monkeypatch):
    from weft.bcsd.disassemble import native
    from weft.bcsd.read.image import Image, Region

    made = []
    build = native.build_graph

    def counted(instructions, *rest):
        made.append(len(instructions))
        return build(instructions, *rest)

    monkeypatch.setattr(native, "build_graph", counted)
    # Jumps to who knows where, nothing else: each belongs to the function in front, which has a switch.
    code = bytes.fromhex("0285") * 2000
    region = Region(".text", 0x1000, memoryview(code), len(code), True, False)
    image = Image("jumps", "elf", "riscv64", False, False, [region], [region])
    image.entries = [0x1000]
    functions = list(native.NativeDisassembler().functions(image))
    assert [(f.address, f.size) for f in functions] == [(0x1000, len(code))]
    assert len(functions[0].instructions) == 2000
    assert sum(made) < 20 * 2000
