"""What a function stores and gives to what it calls is told; what a compiler chooses is not."""

import pytest

from weft.bcsd.difference.kinds import Change, Kind
from weft.bcsd.difference.outline import Outliner
from weft.bcsd.difference.told.arguments import arguments_read
from weft.bcsd.difference.told.compared import effects_changed
from weft.bcsd.difference.told.conditions import bounds_added, widths_changed
from weft.bcsd.difference.told.spelling import Named
from weft.bcsd.lift.code import CodeBlock, FunctionCode, Surroundings
from weft.bcsd.lift.pcode import PcodeLifter

LIFTER = PcodeLifter()
CALL = "e800100000"
FILE = "import memcmp", "memcmp"
OTHER = "function 7", "checked"


def computed(processor, *blocks):
    made, address = [], 0x1000
    for number, (text, *successors) in enumerate(blocks):
        lines = [bytes.fromhex(line) for line in text.split()]
        made.append(CodeBlock(address, b"".join(lines), tuple(map(len, lines)), tuple(successors)))
        address += len(made[number].data)
    code = FunctionCode(0x1000, address, tuple(made), False, b"".join(block.data for block in made))
    return LIFTER.compute(code, Surroundings(processor, False, 8, False, ()))


def outline(processor, *blocks, callee=FILE):
    found = computed(processor, *blocks)
    return Outliner(found, lambda _: None, lambda _: Named(*callee), lambda *_: "").outline()


def told(old, new, processor="x86_64", *, callee=FILE, taken=None, fields=False):
    """Notes on two functions of one block each."""
    sides = [outline(processor, (text,), callee=callee).effects for text in (old, new)]
    return [note.text for note in effects_changed(*sides, taken or {}, fields=fields)]


#: mov qword [rdi + 0x10], 0 · mov dword [rdi + 0x10], 0 and [rdi + 0x14], 0
ZERO, ZEROS = "48c7471000000000", "c7471000000000 c7471400000000"


@pytest.mark.parametrize(
    ("processor", "old", "new", "note"),
    [
        ("x86_64", "c3", f"{ZERO} c3", "+ u64[arg1 + 0x10] = 0"),
        ("x86_64", f"{ZERO} c3", "c3", "− u64[arg1 + 0x10] = 0"),
        # str xzr, [x0, 16]
        ("aarch64", "c0035fd6", "1f0800f9 c0035fd6", "+ u64[arg1 + 0x10] = 0"),
        # mov dword [rdi + 0x10], 0x500 or 0x600
        ("x86_64", "c7471000050000 c3", "c7471000060000 c3", "u32[arg1 + 0x10] = 0x500 → 0x600"),
        # xorps xmm0, xmm0; movups [rdi], xmm0; movups [rdi + 0x10], xmm0
        ("x86_64", "c3", "0f57c0 0f1107 0f114710 c3", "+ bytes[arg1, 0x20] = 0"),
        # mov rax, [rsi]; mov [rdi], rax; the same at 8
        (
            "x86_64",
            "488b06 488907 488b4608 48894708 c3",
            "488b06 488907 c3",
            "− u64[arg1 + 8] = u64[arg2 + 8]",
        ),
        # mov [rdi + 8], rsi
        ("x86_64", "c3", "48897708 c3", "+ u64[arg1 + 8] = arg2"),
    ],
)
def test_a_store_that_one_version_makes_is_told(processor, old, new, note):
    assert told(old, new, processor) == [note]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{ZERO} c3", f"{ZEROS} c3"),
        # the second of two equal stores, as where the end of a function was doubled
        (f"{ZERO} c3", f"{ZERO} {ZERO} c3"),
        # xorps xmm0, xmm0; movups [rdi + 0x10], xmm0 · mov qword [rdi + 0x10], 0; mov qword [rdi + 0x18], 0
        ("0f57c0 0f114710 c3", f"{ZERO} 48c7471800000000 c3"),
        # mov qword [r10 + 0x10], 0: nobody knows where r10 points
        (f"{ZERO} c3", "49c7421000000000 c3"),
        # movzx eax, word [rsi]; mov [rdi], ax · mov eax, [rsi]; mov [rdi], ax
        ("0fb706 668907 c3", "8b06 668907 c3"),
        # xor eax, eax between
        (f"{ZERO} c3", f"31c0 {ZERO} 31c0 c3"),
    ],
)
def test_stores_that_a_compiler_joins_doubles_or_moves_are_not(old, new):
    assert told(old, new) == told(new, old) == []


def test_a_field_that_lies_elsewhere_is_told_once():
    # mov qword [rdi + 0x10], 0 or [rdi + 0x18], 0
    assert told(f"{ZERO} c3", "48c7471800000000 c3", fields=True) == []
    assert len(told(f"{ZERO} c3", "48c7471800000000 c3")) == 2
    assert told("c7471005000000 c3", "c7471006000000 c3", fields=True) == ["u32[arg1 + 0x10] = 5 → 6"]


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        # mov edx, 4 or 8
        (f"ba04000000 {CALL} c3", f"ba08000000 {CALL} c3", "memcmp(…, …, 4) → memcmp(…, …, 8)"),
        # mov rax, rdi; mov rdi, rsi; mov rsi, rax
        (
            f"ba04000000 {CALL} c3",
            f"4889f8 4889f7 4889c6 ba04000000 {CALL} c3",
            "memcmp(arg1, arg2, …) → memcmp(arg2, arg1, …)",
        ),
        # one more call, of 8 bytes
        (
            f"ba04000000 {CALL} c3",
            f"4889fb 4889f5 ba04000000 {CALL} 4889df 4889ee ba08000000 {CALL} c3",
            "+ memcmp(arg1, arg2, 8)",
        ),
    ],
)
def test_other_arguments_of_a_call_are_told(old, new, note):
    assert told(old, new) == [note]


#: mov ecx, 4 or 5: a fourth argument, or a leftover. mov rcx, rdi or rsi: the same.
FOURTH = f"ba04000000 b904000000 {CALL} c3", f"ba04000000 b905000000 {CALL} c3"
MOVED = f"ba04000000 4889f9 {CALL} c3", f"ba04000000 4889f1 {CALL} c3"


def test_what_stands_behind_the_arguments_of_a_callee_is_a_leftover():
    assert told(*FOURTH) == []
    assert told(*FOURTH, callee=OTHER, taken={"function 7": 3}) == []
    assert told(*FOURTH, callee=OTHER, taken={"function 7": 4}) == [
        "checked(…, …, …, 4) → checked(…, …, …, 5)"
    ]
    assert told(*MOVED, callee=OTHER, taken={"function 7": 4}) == [
        "checked(…, …, …, arg1) → checked(…, …, …, arg2)"
    ]


def test_of_a_callee_of_which_nothing_is_known_constants_are_told_alone():
    assert told(*FOURTH, callee=OTHER) == ["checked(…, …, …, 4) → checked(…, …, …, 5)"]
    assert told(*MOVED, callee=OTHER) == []


def test_what_a_function_reads_are_its_arguments():
    # mov rax, [rdi]; add rax, rdx
    assert arguments_read(computed("x86_64", ("488b07 4801d0 c3",))) == 3
    # mov dword [0x2000], 1
    assert arguments_read(computed("x86_64", ("c704250020000001000000 c3",))) == 0
    # A jump to what it calls passes on what it is given.
    assert arguments_read(computed("x86_64", ("e9fb0f0000",))) is None


def test_the_width_of_a_sum_that_is_compared():
    # add esi, edi; cmp si or esi, 0x80; ja
    sides = [
        outline("x86_64", (f"01fe {compared} 7701", 1, 2), ("c3",), ("c3",)).conditions
        for compared in ("6681fe8000", "81fe80000000")
    ]
    assert widths_changed(*sides) == ["if ((arg1 + arg2) < 0x81): u16 → u32"]
    assert widths_changed(sides[0], sides[0]) == []


#: cmp edi or esi, 5, and the jump behind it.
EQUAL, BELOW, OTHER_BELOW = "83ff05 7401", "83ff05 7201", "83fe05 7201"


@pytest.mark.parametrize(
    ("old", "new", "added"),
    [
        # The same value, asked otherwise.
        ([EQUAL], [BELOW], 0),
        ([BELOW], [EQUAL], 0),
        # Another value that is bounded now.
        ([EQUAL], [OTHER_BELOW], 1),
        ([], [BELOW], 1),
        # One more, whatever became of the first.
        ([EQUAL], [BELOW, OTHER_BELOW], 1),
        ([BELOW], [OTHER_BELOW], 0),
    ],
)
def test_a_condition_that_asks_otherwise_about_one_value_is_no_new_bound(old, new, added):
    gone, come = (
        [outline("x86_64", (asked, 1, 2), ("c3",), ("c3",)).conditions[0] for asked in side]
        for side in (old, new)
    )
    assert bounds_added(gone, come) == added


def test_effects_rank_above_plain_code_and_layout():
    ranks = [
        Change({kind: 1}, 0.1, (), ()).rank for kind in (Kind.ARGUMENT, Kind.STORE, Kind.WIDTH, Kind.CODE)
    ]
    assert ranks == sorted(ranks)
    assert max(ranks[:3]) < Change({Kind.FRAME: 1}, 1.0, (), ()).rank


def test_other_registers_and_another_order_are_no_effect(difference_of):
    difference = difference_of("old-x86_64", "registers-x86_64")
    kinds = {kind for entry in difference.entries if entry.change is not None for kind in entry.change.kinds}
    assert not kinds & {Kind.ARGUMENT, Kind.STORE, Kind.WIDTH}
