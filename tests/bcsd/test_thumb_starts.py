"""Thumb-2 in stripped files: tables among the code, and what stands where no function can begin."""

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.arm.jump_tables import ArmSpeech
from weft.bcsd.disassemble.cfg import Surroundings
from weft.bcsd.disassemble.extent import Surveyor
from weft.bcsd.disassemble.gaps import decoded, next_lead, pointed_to
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read.image import Image, Region, Symbol, UnwindRange

BASE = 0x10000
ARM = architecture_named("arm")
PUSH, POP, NO_CODE = "10b5", "10bd", "ffffffff"


def image_of(code: str, thumb=(), stubs=None) -> Image:
    held = bytes.fromhex(code.replace(" ", ""))
    region = Region(".text", BASE, memoryview(held), len(held), True, False)
    return Image(
        "made", "elf", "arm", False, True, [region], [region], thumb={BASE, *thumb}, stubs=stubs or {}
    )


def surveyor_of(image: Image) -> Surveyor:
    return Surveyor(Surroundings(image, ARM, guesses=True))


def test_a_constant_is_added_to_where_the_word_stands_and_a_register_to_the_instruction():
    speech, image = ArmSpeech(thumb=True), image_of(PUSH)
    for lines in (("addw", "r2, pc, #8"), ("adr", "r2, #8")):
        for start in (BASE, BASE + 2):
            found = speech.defines(image, (start, 4, *lines))
            assert found is not None
            assert (found.constant, found.terms) == (BASE + 12, ())
    below = speech.defines(image, (BASE + 2, 4, "subw", "r2, pc, #4"))
    assert below is not None
    assert (below.constant, below.terms) == (BASE, ())
    added = speech.defines(image, (BASE + 2, 2, "add", "r2, pc"))
    assert added is not None
    assert (added.constant, added.terms) == (BASE + 6, ((1, "r2"),))


def test_what_jumps_to_a_sum_in_the_link_register_does_not_return():
    lines = [(BASE, 2, "add", "lr, r3"), (BASE + 2, 2, "bx", "lr"), (BASE + 4, 2, "bx", "lr")]
    assert [ARM.returns(lines, index) for index in (1, 2)] == [False, True]
    assert ARM.returns([(BASE, 2, "add", "r2, r3"), lines[1]], 1)
    assert ARM.returns(lines[1:], 0)


def switch(start: int, behind: int, *last: tuple[int, str, str]):
    """A comparison, the address of a table ``behind`` bytes from there, and what jumps by it."""
    lines = [(start, 2, "cmp", "r3, #2")]
    place = start + 2
    for size, mnemonic, operands in ((4, "addw", f"lr, pc, #{behind}"), *last):
        lines.append((place, size, mnemonic, operands))
        place += size
    return lines, place


def test_tables_behind_jumps_to_what_was_worked_out_are_stepped_over():
    image = image_of(PUSH)
    load, add, go = (4, "ldr.w", "r3, [lr, r3, lsl #2]"), (2, "add", "lr, r3"), (2, "bx", "lr")
    lines, end = switch(BASE, 12, load, add, go)
    # In front of the table stand two bytes, so that it stands where words do.
    assert ARM.inline_table(image, lines) == end + 2 + 12
    lines, end = switch(BASE + 2, 8, load, add, go)
    assert ARM.inline_table(image, lines) == end + 12
    assert ARM.inline_table(image, switch(BASE + 2, 20, load, add, go)[0]) is None
    assert ARM.inline_table(image, switch(BASE + 2, 8, load, go)[0]) is None
    lines, end = switch(BASE + 2, 4, (4, "ldr.w", "pc, [lr, r3, lsl #2]"))
    assert end == BASE + 12
    assert ARM.inline_table(image, lines) == end + 12
    assert ARM.literals(image, BASE, lines) == set(range(end, end + 12, 2))


def test_what_stands_in_a_table_loads_nothing():
    image = image_of(PUSH)
    lines = [(BASE, 2, "cmp", "r0, #3"), (BASE + 2, 4, "tbb", "[pc, r0]")]
    inside, behind = ((BASE + at, 2, "ldr", "r1, [pc, #0x10]") for at in (6, 10))
    assert ARM.literals(image, BASE, [*lines, inside]) == {BASE + 6, BASE + 8}
    assert ARM.literals(image, BASE, [*lines, inside, behind]) == {BASE + at for at in (6, 8, 28, 30)}


def test_a32_is_looked_for_where_words_stand():
    image = image_of("00000000 10402de9 ffffffff 1eff2fe1")
    assert [line[0] - BASE for line in decoded(image, ARM, BASE + 2, BASE + 16, False)] == [4, 12]


def test_data_that_a_branch_leads_over_is_inside():
    # cmp r0, #0; beq 16; push; a word that is no instruction, and four bytes; pop; bx lr at 16.
    image = image_of(f"0028 05d0 {PUSH} 00bf {NO_CODE} 00bf {POP} 7047")
    assert surveyor_of(image).survey(BASE, BASE + 18).end == BASE + 18
    # Without the branch the function ends where it cannot go on.
    image = image_of(f"0028 00bf {PUSH} 00bf {NO_CODE} 00bf {POP} 7047")
    assert surveyor_of(image).survey(BASE, BASE + 18).end == BASE + 8


def test_nothing_begins_at_an_odd_place_behind_what_is_no_code():
    # From the next byte on there would be functions, read at odd places.
    image = image_of(f"{PUSH} {POP} {NO_CODE} 00" + f"{PUSH} 00bf {POP}" * 4 + "00")
    image.entries = [BASE, BASE + 4]
    found = {f.address - BASE for f in NativeDisassembler().functions(image)}
    assert 0 in found
    assert all(start % 2 == 0 for start in found)


def test_what_stands_between_words_is_thumb():
    image = image_of(f"{PUSH} 00f001f8 {POP} {PUSH} {POP}", thumb=())
    image.thumb = set()
    image.entries = [BASE + 2]
    list(NativeDisassembler().functions(image))
    assert BASE + 2 in image.thumb


def test_a_mere_call_that_never_returns_is_the_end_of_what_stands_in_front():
    # push; bl 12; bl 12; pop; what is called, at first no stub.
    image = image_of(f"{PUSH} 00f003f8 00f001f8 {POP} {PUSH} {POP}", stubs={BASE + 10: "abort"})
    surveyor = surveyor_of(image)
    image.thumb |= {BASE + 2, BASE + 6}
    assert surveyor.is_end(BASE + 2, BASE + 6) is False  # it calls 12, which returns
    assert surveyor.is_end(BASE + 6, BASE + 10) is False
    image.stubs[BASE + 12] = "abort"
    assert surveyor.is_end(BASE + 6, BASE + 10) is True
    assert surveyor.is_end(BASE + 2, BASE + 10) is False  # two of them
    assert surveyor.is_end(BASE, BASE + 2) is False


def test_most_words_of_a32_are_carried_out_always():
    image = image_of(PUSH)
    always, other = bytes.fromhex("10402de9"), bytes.fromhex("10b50020")
    assert ARM.modes(image, always * 12) == (False,)
    assert ARM.modes(image, other * 12) == (True,)
    assert ARM.modes(image, always * 6 + other * 6) == (False, True)
    assert ARM.modes(image, always * 7) == (False, True)
    image.big_endian = True
    assert ARM.modes(image, always[::-1] * 12) == (False,)
    assert architecture_named("x86_64").modes(image, other * 12) == (False,)


def test_a_pointer_whose_mode_the_bytes_deny_is_none():
    code = "10402de9" * 10 + "1080bde8" * 10
    image = image_of(code)
    image.thumb = set()
    words = b"".join((BASE + at).to_bytes(4, "little") for at in (9, 8))
    image.data.append(Region(".data", 0x20000, memoryview(words), len(words), False, True))
    assert pointed_to(image, ARM) == [BASE + 8]
    assert not image.thumb


def test_words_of_a32_behind_a_thumb_function_are_a32():
    # push {r4, lr}; nine nops; pop {r4, pc}, thirty times, behind a function in Thumb that is known.
    one = "10402de9" + "00f020e3" * 9 + "1080bde8"
    image = image_of(f"{PUSH} {POP}" + one * 30)
    image.entries = [BASE]
    found = {f.address - BASE: f.size for f in NativeDisassembler().functions(image)}
    assert found == {0: 4} | {4 + 44 * number: 44 for number in range(30)}
    assert image.thumb == {BASE}


def test_a_short_run_that_looks_like_a32_is_none():
    # The second half of a word of long Thumb instructions, where they stand between words, is what A32 has.
    image = image_of(f"{PUSH} {POP} {PUSH}" + "00bf" + "10b500ee" * 60 + f"{PUSH} 00bf {POP} 00bf" * 20)
    assert ARM.modes(image, image.code_at(BASE + 8, BASE + 200)) == (False,)
    end = BASE + len(image.code[0].data)
    assert next_lead(image, ARM, BASE + 4, end, True, True, set())[1] is True
    long = image_of("10402de9" * 300)
    assert next_lead(long, ARM, BASE, BASE + 1200, True, True, set())[1] is False
    assert next_lead(long, ARM, BASE, BASE + 1000, True, True, set())[1] is True


def test_a_few_words_of_a32_behind_thumb_are_a32_and_what_follows_is_thumb():
    # vld1.8 {d0}, [r1]! and vst1.8 {d0}, [ip]! are plain words, too: so is memcpy of glibc, else Thumb.
    vectors = "00c0a0e1 403052e3 0900002a" + "0d0721f4 0d070cf4" * 5 + "1eff2fe1"
    behind = f"{PUSH} 0124 0134 8442 fcdb" + "00bf" * 5 + f"{POP} 00bf"
    image = image_of(f"{PUSH} {POP} {vectors}" + behind * 4)
    image.entries = [BASE]
    found = {f.address - BASE: f.size for f in NativeDisassembler().functions(image)}
    assert found == {0: 4, 4: 56} | {60 + at: 22 for at in range(0, 96, 24)}
    assert BASE + 4 not in image.thumb
    assert BASE + 60 in image.thumb


def test_four_plain_words_are_a_function_of_a32():
    # ldr r0, [r0]; ldr r3, [r1]; sub r0, r0, r3; bx lr, as a comparison for qsort is, among zeros.
    short = "000090e5 003091e5 030040e0 1eff2fe1"
    image = image_of(f"{PUSH} {POP} 00000000 {short} 0000" + f"{PUSH} 00bf {POP}" * 8)
    image.entries = [BASE]
    found = {f.address - BASE: f.size for f in NativeDisassembler().functions(image)}
    assert found[8] == 16
    assert BASE + 8 not in image.thumb
    image.big_endian = True
    assert ARM.mode_here(image, bytes.fromhex("e5900000 e5913000 e0400003 e12fff1e")) is False


def test_an_unwind_table_tells_no_mode_of_what_only_code_takes_the_address_of():
    # push {r4, lr}; movs r4, #1; adds r4, #1; cmp r4, r0; blt back to the addition; nops; pop {r4, pc}; nop
    one = f"{PUSH} 0124 0134 8442 fcdb" + "00bf" * 5 + f"{POP} 00bf"
    image = image_of(one * 10)
    image.thumb.clear()
    image.unwind = [UnwindRange(BASE + at, BASE + at) for at in range(0, 240, 24)]
    found = {f.address - BASE: (f.size, len(f.blocks)) for f in NativeDisassembler().functions(image)}
    assert found == dict.fromkeys(range(0, 240, 24), (22, 3))
    assert image.thumb == {BASE + at for at in range(0, 240, 24)}


def test_words_of_a32_that_an_unwind_table_has_are_a32():
    image = image_of(("10402de9" + "00f020e3" * 9 + "1080bde8") * 10)
    image.thumb.clear()
    image.unwind = [UnwindRange(BASE + at, BASE + at) for at in range(0, 440, 44)]
    found = {f.address - BASE: f.size for f in NativeDisassembler().functions(image)}
    assert found == dict.fromkeys(range(0, 440, 44), 44)
    assert not image.thumb


def test_a_table_behind_a_long_one_is_data_too():
    """Nothing that stands behind the long one is decoded before that one is known for data."""
    far, call = "ffffffff", "00f000f8"
    to_table = "bf00 a002 f850 2022 4410 4700"

    def lines(*halfwords: str) -> str:
        return "".join(word[2:] + word[:2] for word in " ".join(halfwords).split())

    first = lines("b510", "2ac7", to_table) + far * 200
    second = lines("2a03", "bf00", to_table) + call * 4
    image = image_of(first + second + lines("bd10"))
    image.symbols = [Symbol("f", BASE, image.code_size)]
    (function,) = NativeDisassembler().functions(image)
    assert function.size == image.code_size
    assert [text for _, _, text, _ in function.instructions].count("bl") == 0
    assert function.instructions[-1][2] == "pop"
