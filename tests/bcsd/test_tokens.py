"""The normaliser and its vocabulary: fixed, without names, and the same function gives the same rows."""

import dataclasses

import numpy as np
import pytest

from weft.bcsd.architectures import architecture_named
from weft.bcsd.architectures.operands import signed
from weft.bcsd.architectures.x86.operands import x86_parts
from weft.bcsd.disassemble.interface import Block, Function, Reference, ReferenceKind
from weft.bcsd.represent import NORMALISER_VERSION, SLOTS, Normaliser, load_vocabulary, token_digest
from weft.bcsd.represent.vocabulary import MNEMONIC_BUCKETS, VOCABULARY_SIZE, log_bucket

VOCABULARY = load_vocabulary()


def rows(architecture, *lines, references=None):
    """Rows of a made-up function, each as its slots' texts."""
    instructions = [(4 * i, 4, *line) for i, line in enumerate(lines)]
    function = Function("f", 0, 4 * len(lines), instructions, [Block(0, len(lines))], [], references or {})
    found = Normaliser(architecture).tokens(function)
    return [tuple(VOCABULARY.tokens[slot] for slot in row) for row in found.tolist()]


def test_the_vocabulary_is_this_one():
    # The digest is part of every table and every model: a change of the rules is a change of version.
    assert len(VOCABULARY) == VOCABULARY_SIZE == len(set(VOCABULARY.tokens))
    assert NORMALISER_VERSION == 1
    assert VOCABULARY.digest == "997b77c6aaf2f1b0a251c48504dc03bfbcb29dd34bbbf7878acd77df2614009e"
    assert VOCABULARY.tokens[0] == "[PAD]"
    assert VOCABULARY.ids["[MASK]"] == 4


@pytest.mark.parametrize(
    ("line", "slots"),
    [
        (("mov", "rax, rbx"), ("mov", "rax", "rbx", "none", "none")),
        (("mov", "eax, 5"), ("mov", "eax", "imm", "none", "i:5")),
        (("cmp", "eax, 0xffffffff"), ("cmp", "eax", "imm", "none", "i:-1")),
        (("mov", "dword ptr [rbp - 8], 5"), ("mov", "m32[rbp]", "imm", "none", "i:5")),
        (("mov", "rax, qword ptr [rbp - 8]"), ("mov", "rax", "m64[rbp]", "none", "s:-4")),
        (("mov", "eax, dword ptr [rdi + 0x58]"), ("mov", "eax", "m32[rdi]", "none", "d:88")),
        (("lea", "rax, [rdi + rsi*4 + 0x1000]"), ("lea", "rax", "m[rdi+i]", "none", "d:+13")),
        (("mov", "rax, qword ptr fs:[0x28]"), ("mov", "rax", "m64fs[]", "none", "d:40")),
        (("mov", "eax, dword ptr [rsp + rcx*4 + 8]"), ("mov", "eax", "m32[rsp+i]", "none", "d:8")),
        (("notrack jmp", "rax"), ("jmp", "rax", "none", "none", "none")),
        (("ret", ""), ("ret", "none", "none", "none", "none")),
    ],
)
def test_x86_operands_become_slots(line, slots):
    assert rows("x86_64", line) == [slots]


def test_all_ones_are_small_negative_numbers():
    words = (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
    found = (0x7FFFFFFF, -(1 << 31), -1, 1 << 32, (1 << 63) - 1, -(1 << 63), -1)
    assert tuple(map(signed, words)) == found


def test_an_address_replaces_the_operand_that_holds_it():
    assert x86_parts("lea", "rax, [rip + 0x10]", "data").operands == ["rax", "mdata"]
    assert x86_parts("mov", "eax, dword ptr [rcx*4 + 0x404000]", "data").operands == ["eax", "m32data+i"]
    beside = x86_parts("mov", "dword ptr [rdi + 8], 0x404000", "data")
    assert (beside.operands, beside.displacement) == (["m32[rdi]", "imm"], 8)


@pytest.mark.parametrize(
    ("line", "slots"),
    [
        (("add", "x0, x1, #0x10"), ("add", "x0", "x1", "imm", "i:16")),
        (("ldr", "w0, [x1, #0x58]"), ("ldr", "w0", "[x1]", "none", "d:88")),
        (("str", "x0, [sp, #0x18]"), ("str", "x0", "[sp]", "none", "s:+5")),
        (("stp", "x29, x30, [sp, #-0x20]!"), ("stp", "x29", "x30", "[sp]!", "s:-6")),
        (("csel", "w0, w1, w2, eq"), ("csel.eq", "w0", "w1", "w2", "none")),
        (("add", "x0, x1, x2, lsl #3"), ("add", "x0", "x1", "x2", "i:3")),
        (("ldr", "x0, [x1, x2, lsl #3]"), ("ldr", "x0", "[x1+i]", "none", "none")),
        (("add", "v0.4s, v1.4s, v2.4s"), ("add.4s", "v0", "v1", "v2", "none")),
    ],
)
def test_arm64_operands_become_slots(line, slots):
    assert rows("aarch64", line) == [slots]


def test_jumps_name_the_target_by_position_and_the_entry_is_position_zero():
    found = rows(
        "x86_64",
        ("dec", "edi"),
        ("jne", "0x0"),
        ("jmp", "0xc"),
        ("ret", ""),
        references={1: Reference(ReferenceKind.JUMP, 0), 2: Reference(ReferenceKind.JUMP, 3)},
    )
    assert found[1] == ("jne", "to:0", "none", "none", "j:-1")
    assert found[2] == ("jmp", "to:3", "none", "none", "j:+1")
    tested = rows("aarch64", ("tbz", "w0, #3, #0x0"), references={0: Reference(ReferenceKind.JUMP, 0)})
    assert tested[0] == ("tbz", "w0", "imm", "to:0", "i:3")
    far = rows("x86_64", ("jmp", "0x0"), references={0: Reference(ReferenceKind.JUMP, 9000)})
    assert far[0][1] == "to:far"


def test_calls_and_addresses_say_what_kind_of_place_they_mean():
    cases = {
        ReferenceKind.CALL_INTERNAL: "call:internal",
        ReferenceKind.CALL_EXTERNAL: "call:external",
        ReferenceKind.CALL_SELF: "call:self",
        ReferenceKind.TAIL_EXTERNAL: "tail:external",
    }
    for kind, token in cases.items():
        (row,) = rows("x86_64", ("call", "0x1234"), references={0: Reference(kind, 0x1234)})
        assert row == ("call", token, "none", "none", "none")
    through_slot = {0: Reference(ReferenceKind.CALL_EXTERNAL, 0)}
    (row,) = rows("x86_64", ("call", "qword ptr [rip + 0x2fe2]"), references=through_slot)
    assert row[1] == "call:external"
    constant = {0: Reference(ReferenceKind.DATA_CONSTANT, 0x2000)}
    (row,) = rows("x86_64", ("lea", "rdi, [rip + 0xe2a]"), references=constant)
    assert row == ("lea", "rdi", "m@const", "none", "none")
    page = {0: Reference(ReferenceKind.CODE, 0x2000)}
    assert rows("aarch64", ("adrp", "x0, #0x2000"), references=page)[0][2] == "@page"


def test_two_links_of_one_file_give_the_same_rows():
    near = {0: Reference(ReferenceKind.DATA_CONSTANT, 0x2000)}
    far = {0: Reference(ReferenceKind.DATA_CONSTANT, 0x9000)}
    here = rows("x86_64", ("lea", "rdi, [rip + 0xe2a]"), references=near)
    there = rows("x86_64", ("lea", "rdi, [rip + 0x7e2a]"), references=far)
    assert here == there


def test_a_constant_built_in_pieces_is_the_constant():
    whole = rows("x86_64", ("mov", "eax, 0xedb88320"))[0][4]
    pieces = rows("aarch64", ("mov", "w0, #0x8320"), ("movk", "w0, #0xedb8, lsl #16"))
    assert pieces[1][4] == whole
    assert pieces[0][4] != whole


def test_a_later_piece_replaces_its_own_bits_and_no_more():
    pieces = {}
    piece = architecture_named("aarch64").piece
    assert piece("mov", "w0, #-1", pieces) == -1
    assert piece("movk", "w0, #1, lsl #16", pieces) == 0x1FFFF
    assert piece("movk", "w0, #0x8000, lsl #16", pieces) == 0x8000FFFF - (1 << 32)


def test_a_bit_field_is_one_constant_of_both_its_numbers():
    fields = [
        rows("aarch64", ("ubfx", f"w0, w1, #{first}, #{width}"))[0][4]
        for first, width in ((3, 5), (3, 6), (4, 5))
    ]
    assert len(set(fields)) == 3


def test_unlisted_words_fall_into_buckets_and_stay_apart_mostly():
    found = {rows("x86_64", (f"strange{number}", ""))[0][0] for number in range(40)}
    assert all(word.startswith("mnemonic#") for word in found)
    assert len(found) > MNEMONIC_BUCKETS // 4


def test_log_buckets():
    assert [log_bucket(v) for v in (0, 1, -1, 8, 15, 16, -256, 1 << 60)] == "+0 +1 -1 +4 +4 +5 -9 +33".split()  # noqa: SIM905


def test_names_and_strings_never_reach_a_token(functions_of):
    image, functions = functions_of("gcc-O2-x86_64.so")
    normaliser = Normaliser(image.architecture)
    for function in functions.values():
        renamed = dataclasses.replace(
            function, name="secret", aliases=("hidden",), imports=("gone",), digest="", flags=()
        )
        assert np.array_equal(normaliser.tokens(function), normaliser.tokens(renamed))
    words = {word for token in VOCABULARY.tokens for word in token.replace(":", " ").split()}
    assert not {"puts", "abort", "dense", "negative", "sample"} & words


def test_the_same_function_always_gives_the_same_rows(functions_of):
    image, functions = functions_of("clang-O2-aarch64.so")
    one = {name: token_digest(Normaliser(image.architecture).tokens(f)) for name, f in functions.items()}
    shared = Normaliser(image.architecture)
    other = {name: token_digest(shared.tokens(f)) for name, f in reversed(functions.items())}
    assert one == other
    assert len(set(one.values())) > 10


def test_slots_are_five():
    assert len(SLOTS) == 5
    assert rows("mips", ("addiu", "$sp, $sp, -0x10"))[0] == ("addiu", "$sp", "$sp", "imm", "i:-16")
    assert rows("mips", ("lw", "$t9, 0x18($sp)"))[0] == ("lw", "$t9", "[$sp]", "none", "s:+5")
