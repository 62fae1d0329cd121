"""Function starts in stripped files: every committed file of a processor without unwind tables, its symbols hidden."""

import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.architecture import NOWHERE
from weft.bcsd.disassemble.gaps import code_taken, next_start, pointed_to
from weft.bcsd.disassemble.interface import Flag, Reference, ReferenceKind
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bcsd.read.image import Image, Region, Symbol

BASE = 0x10000


def stripped(path):
    """The image as `strip` leaves it: no symbols, and nothing known of modes but the entry point's."""
    image = open_image(path)
    image.symbols = []
    image.thumb = {entry for entry in image.entries if entry in image.thumb}
    return image


@pytest.mark.parametrize("name", ["clang-O2-mips", "clang-O2-mipsel"])
def test_a_stripped_file_has_nearly_all_its_functions(name, files):
    named = {symbol.address for symbol in open_image(files / name).symbols}
    found = {function.address for function in NativeDisassembler().functions(stripped(files / name))}
    assert len(named & found) >= 0.9 * len(named)
    assert len(found - named) <= 0.1 * len(found) + 1


@pytest.mark.parametrize("name", ["clang-O2-arm", "clang-O2-thumb"])
def test_a_stripped_arm_file_has_most_of_its_functions(name, files):
    # A few hundred instructions say little of modes, and clang's A32 switches are taken apart.
    named = {symbol.address for symbol in open_image(files / name).symbols}
    found = {function.address for function in NativeDisassembler().functions(stripped(files / name))}
    assert len(named & found) >= 0.8 * len(named)


def image_of(code, architecture, data=b"", thumb=()):
    regions = [Region(".text", BASE, memoryview(code), len(code), True, False)]
    if data:
        regions.append(Region(".data", 0x20000, memoryview(data), len(data), False, True))
    return Image("made", "elf", architecture, False, True, regions[:1], regions, thumb=set(thumb))


def found_in(image):
    return {f.address - BASE: f for f in NativeDisassembler().functions(image)}


def riscv(*words):
    return b"".join(bytes.fromhex(word) for word in words)


def test_riscv_targets_are_distances_and_calls_lead_to_functions():
    code = riscv("0111", "06e4", "ef006000", "8280", "0111", "8280")
    # c.addi sp; c.sdsp ra; jal +6; ret; c.addi sp; ret
    image = image_of(code, "riscv64")
    image.entries = [BASE]
    found = found_in(image)
    assert set(found) == {0, 10}
    assert found[0].callees == [BASE + 10]


def test_ppc_calls_behind_the_setup_of_r2_enter_the_function_itself():
    words = [0x3C4C0002, 0x38427F00, 0x48000009, 0x4E800020, 0x3C4C0002, 0x38427F00, 0x4E800020]
    # addis r2, r12; addi r2; bl to the third instruction of the second function (which is at 16): 8 + 16 = 24.
    words[2] = 0x48000000 | 16 | 1
    code = b"".join(word.to_bytes(4, "little") for word in words)
    image = image_of(code, "ppc64")
    image.entries = [BASE]
    found = found_in(image)
    assert set(found) == {0, 16}
    assert found[0].callees == [BASE + 16]


def test_the_traceback_table_behind_a_ppc_function_is_no_damage(files):
    for function in NativeDisassembler().functions(open_image(files / "llvm-ppc64.o")):
        assert Flag.UNDECODED not in function.flags
    # li r3, 1; zeros where an instruction should stand; blr
    words = [0x38600001, 0, 0, 0, 0x4E800020]
    image = image_of(b"".join(word.to_bytes(4, "little") for word in words), "ppc64")
    image.symbols = [Symbol("broken", BASE, 20)]
    assert Flag.UNDECODED in found_in(image)[0].flags


def test_ppc_stubs_among_the_code_are_no_functions():
    stub = [0xF8410018, 0xE9828010, 0x7D8903A6, 0x4E800420]
    words = [0x3C4C0002, 0x38427F00, 0x4E800020, *stub, 0x4E800020]
    code = b"".join(word.to_bytes(4, "little") for word in words)
    image = image_of(code, "ppc64")
    table = BASE + (2 << 16) + 0x7F00
    image.slots[table - 0x7FF0] = "puts"
    found = architecture_named("ppc64").hidden_stubs(image)
    assert found == {BASE + 12: (BASE + 28, "puts")}


def test_calls_and_pointers_say_the_mode_of_what_they_lead_to():
    arm = architecture_named("arm")
    # Thumb: push {r4, lr}; bl +4; pop {r4, pc}; push {r4, lr}; pop {r4, pc}
    code = bytes.fromhex("10b5 00f001f8 10bd 10b5 10bd".replace(" ", ""))
    image = image_of(code, "arm", data=(BASE + 8 | 1).to_bytes(4, "little"), thumb=[BASE])
    image.entries = [BASE]
    assert pointed_to(image, arm) == [BASE + 8]
    assert image.thumb == {BASE, BASE + 8}
    image.thumb = {BASE}
    assert set(found_in(image)) == {0, 8}
    assert image.thumb >= {BASE, BASE + 8}


def test_a_gap_begins_behind_constants_and_padding():
    mips = architecture_named("mips")
    words = [0, 0, 0x27BDFFE0, 0x03E00008, 0]
    code = b"".join(word.to_bytes(4, "little") for word in words)
    image = image_of(code, "mips")
    assert next_start(image, mips, BASE, BASE + 20, False, set()) == BASE + 8
    assert next_start(image, mips, BASE, BASE + 20, False, {BASE + 8}) == BASE + 12
    assert next_start(image, mips, BASE, BASE + 8, False, set()) is None


def test_the_table_behind_a_thumb_switch_is_stepped_over():
    arm = architecture_named("arm")
    # cmp r0, #2; tbb [pc, r0]; three entries, one of padding.
    code = bytes.fromhex("0228 dfe800f0 0204 0600".replace(" ", ""))
    image = image_of(code, "arm", thumb=[BASE])
    before = [(BASE, 2, "cmp", "r0, #2"), (BASE + 2, 4, "tbb", "[pc, r0]")]
    assert arm.inline_table(image, before) == BASE + 10
    assert arm.inline_table(image, [before[1]]) is None


def word(value):
    return value.to_bytes(4, "little")


def test_what_sets_its_frame_up_behind_a_call_begins_a_function_and_the_call_never_returns():
    # 0: push {r4, lr}; eight nops; bl 64: it does not come back, for at 40 another one begins.
    push, nop, ret = word(0xE92D4010), word(0xE320F000), word(0xE8BD8010)
    calls = push + nop * 8 + word(0xEB000000 | (64 - 36 - 8) // 4)
    code = calls + push + nop * 4 + ret + push + word(0xEAFFFFFE)
    image = image_of(code, "arm")
    image.entries = [BASE]
    found = found_in(image)
    assert {start: f.size for start, f in found.items()} == {0: 40, 40: 24, 64: 8}


@pytest.mark.parametrize(
    ("architecture", "jumps_to_itself", "returns"),
    [
        ("arm", [0xEAFFFFFE], [0xE12FFF1E]),
        ("mips", [0x1000FFFF, 0], [0x03E00008, 0]),
        ("ppc64", [0x48000000], [0x4E800020]),
        ("riscv64", [0x0000006F], [0x00008067]),
    ],
)
def test_a_function_without_a_way_out_never_returns(architecture, jumps_to_itself, returns):
    code = b"".join(map(word, (*jumps_to_itself, *returns)))
    image = image_of(code, architecture)
    other = BASE + 4 * len(jumps_to_itself)
    image.entries = [BASE, other]
    found = {f.address: Flag.NO_RETURN in f.flags for f in NativeDisassembler().functions(image)}
    assert found == {BASE: True, other: False}


def test_a_branch_over_it_says_that_it_is_inside():
    # The same with a branch of the first function behind what looks like a second one.
    push, nop, ret = word(0xE92D4010), word(0xE320F000), word(0xE8BD8010)
    branch = word(0x0A000000 | (64 - 4 - 8) // 4)
    code = push + branch + nop * 7 + word(0xEB000000 | (72 - 36 - 8) // 4) + push + nop * 4 + ret
    code += nop + ret + push + word(0xEAFFFFFE)
    image = image_of(code, "arm")
    image.entries = [BASE]
    assert {start: f.size for start, f in found_in(image).items()} == {0: 72, 72: 8}


def test_constants_are_doubles_too_and_no_code():
    arm = architecture_named("arm")
    image = image_of(b"\0" * 64, "arm")
    load = [(BASE, 4, "vldr", "d7, [pc, #0x10]"), (BASE + 4, 4, "ldr", "r0, [pc, #0x14]")]
    assert arm.literals(image, BASE, load) == {BASE + at for at in (24, 26, 28, 30, 32, 34)}


def test_the_loader_tells_of_pointers_that_stand_in_the_data(files):
    image = open_image(files / "clang-O2-i386")
    assert all(image.data_map.at(place) is not None for place in image.pointers)


def test_numbers_are_no_pointers_where_the_loader_tells_of_them():
    mips, arm = architecture_named("mips"), architecture_named("arm")
    data = word(BASE + 4) + word(BASE + 9)
    for architecture, expected in ((arm, [BASE + 4]), (mips, [BASE + 4])):
        image = image_of(b"\0" * 64, architecture.name, data)
        image.fixed_base = False
        image.pointers[0x20000] = BASE + 4
        assert pointed_to(image, architecture) == expected
        assert BASE + 8 not in image.thumb


def mips(*words):
    return b"".join(word.to_bytes(4, "little") for word in words)


LOWER, CALL, BACK, NOP = 0x27BDFFE0, 0x0320F809, 0x03E00008, 0


def load(offset):
    """``lw t9, offset(gp)``."""
    return 0x8F990000 | offset & 0xFFFF


def test_calls_through_a_global_offset_table_are_known_for_what_they_are():
    code = mips(
        *(LOWER, load(-16), CALL, NOP),  # abort(): what follows is another function
        *(LOWER, load(-8), 0x27390030, CALL, NOP, BACK, NOP),  # the one at 0x30, whose page lies in the table
        NOP,
        *(LOWER, load(-16), CALL, NOP, CALL, NOP, BACK, NOP),  # the second one is whatever t9 was left at
    )
    table = BASE.to_bytes(4, "little")
    image = image_of(code, "mips", data=table)
    image.entries = [BASE]
    image.global_pointer = 0x20000 + 8
    image.slots = {0x20000 - 8: "printf"}
    image.slots[image.global_pointer - 16] = "abort"
    found = found_in(image)
    assert found[0].imports == ("abort",)
    assert found[0].size == 16
    assert found[0x10].callees == [BASE + 0x30]
    assert found[0x30].size == 16
    image.slots[image.global_pointer - 16] = "printf"
    found = found_in(image)
    assert found[0x30].imports == ("printf",)
    assert found[0x30].size == 32
    # A call leaves nothing in the register that the next one could be known by.
    raw = [
        (0, 4, "lw", "$t9, -16($gp)"),
        (4, 4, "jalr", "$t9"),
        (8, 4, "nop", ""),
        (12, 4, "jalr", "$t9"),
    ]
    mips_32 = architecture_named("mips")
    assert mips_32.called(image, raw, 1).name == "printf"
    assert mips_32.called(image, raw, 3) == NOWHERE


def test_a_function_that_nothing_leads_to_stays_when_all_others_are_known():
    large = BASE + 4 * 11
    code = mips(
        *(LOWER, BACK, NOP),
        *(LOWER, 0x0C000000 | large >> 2, NOP, BACK, NOP),  # nobody calls it; it calls the large one
        *(NOP, NOP, NOP),
        *(LOWER, *[0x24420001] * 400, BACK, NOP),
    )
    image = image_of(code, "mips")
    image.entries = [BASE]
    assert set(found_in(image)) == {0, 12, 44}


def test_what_a_function_takes_the_address_of_is_one_where_no_table_says():
    # lea rdi, [24]; mov eax, [40]; hlt | lea rsi, [56]; test edi, edi; je; inc edi; ret | inc edi; ret | dec edi; ret
    parts = {
        0: "488d3d11000000 8b051b000000 f4",
        24: "488d3519000000 85ff 7402 ffc7 c3",
        40: "ffc7c3",
        56: "ffcfc3",
    }
    code = bytearray(b"\x90" * 59)
    for at, part in parts.items():
        held = bytes.fromhex(part)
        code[at : at + len(held)] = held
    image = image_of(bytes(code), "x86_64")
    image.entries = [BASE]
    found = found_in(image)
    # What stands at 40 is read, as tables are.
    assert {at: function.size for at, function in found.items()} == {0: 14, 24: 14, 56: 3}


def test_addresses_are_not_taken_where_nearly_all_functions_are_known():
    code = bytes.fromhex("488d3d8d000000c3" + "90" * 140 + "ffc7c3" + "90" * 9)
    image = image_of(code, "x86_64")
    image.symbols = [Symbol("known", BASE, 148)]
    assert set(found_in(image)) == {0}


def test_an_address_that_is_stored_is_taken_and_one_that_is_written_to_is_not():
    lines = [(0, 7, "mov", "dword ptr [esp], 0x10020"), (7, 5, "mov", "dword ptr [0x10030], eax")]
    references = {n: Reference(ReferenceKind.CODE, target) for n, target in enumerate((0x10020, 0x10030))}
    assert code_taken(lines, references) == {0x10020}


def test_pages_are_no_functions():
    lines = [(0, 4, "adrp", "x0, #0x11000"), (4, 4, "add", "x0, x0, #0x20"), (8, 4, "ldr", "x1, [x0]")]
    references = {
        number: Reference(ReferenceKind.CODE, target)
        for number, target in enumerate((0x11000, 0x11020, 0x11040))
    }
    assert code_taken(lines, references) == {0x11020}


def test_a_function_found_late_ends_where_one_that_was_found_begins():
    # call 48; lea rdi, [16]; ret | inc edi; jmp over what is called, as far as 64 | ret at 48
    code = bytearray(b"\x90" * 80)
    for at, part in {
        0: "e82b000000 488d3d04000000 c3",
        16: "7430 ffc7 c3",
        48: "ffcf c3",
        66: "ffc7 c3",
    }.items():
        held = bytes.fromhex(part)
        code[at : at + len(held)] = held
    image = image_of(bytes(code), "x86_64")
    image.entries = [BASE]
    found = found_in(image)
    assert {0, 16, 48} <= set(found)
    assert found[16].address + found[16].size <= BASE + 48
