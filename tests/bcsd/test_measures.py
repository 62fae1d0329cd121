"""What the benchmarks measure with: the compiler's tables read from assembly, angr's blocks joined."""

from dataclasses import dataclass

import pytest

from weft.bcsd.architectures.index_bound import Step, StepKind, index_bound
from weft.bcsd.disassemble.angr import joined_starts
from weft.bcsd.disassemble.native import NativeDisassembler
from weft.bcsd.read import open_image
from weft.bench.bcsd.extraction.known import coverage
from weft.bench.bcsd.extraction.tables import read_pointers, read_tables

ASSEMBLY = """
\t.text
f:
\tja\tL0x2
L0x9:
\tnop
\t.section\t.rodata
\t.align 4
L0x4:
\t.long\tL0x7-L0x4
\t.long\tL0x6-L0x4
\t.long\tL0x7-L0x4
numbers:
\t.long\t17
\t.section\t.rodata.cst8
L0x5:
\t.byte\t(L0x11 - L0x12) / 4
\t.text
L0x20:
\t.long\tL0x7-L0x4
"""


def test_tables_are_runs_of_label_differences_in_read_only_data():
    assert read_tables(ASSEMBLY) == {"L0x4": ["L0x7", "L0x6", "L0x7"], "L0x5": ["L0x11"]}


def test_tables_of_other_processors_are_read_too():
    mips = "\t.rdata\n\t.align\t2\nL0x4:\n\t.gpword\tL0x7\n\t.gpword\tL0x6\n\t.text\n"
    thumb = "\t.text\nL0x8:\n\t.byte\t(L0x2-L0x8)/2\n\t.2byte\t(L0x3-L0x8)/2\n"
    i386 = "\t.section\t.rodata\nL0x9:\n\t.long\tL0x1@GOTOFF\n\t.long\tL0x5\n"
    marked = "\t.text\nL0x3:\n\t.word\tL0x2+1-L0x3\n\t.word\tL0x5+1-L0x3\n"
    a32 = "\taddls\tpc, pc, r0, asl #2\n\tb\tL0x9\nL0x4:\n\tb\tL0x2\n\tb\tL0x3\n\t.p2align 1\nL0x2:\n\tb\tL0x9\n"
    clang = (
        "\t.section\t.rodata\nL0xJTI0_0:\n\t.byte\t(L0xBB0_4-L0xBB0_2)>>2\n\t.hword\t(L0xBB0_5-L0xBB0_2)>>2\n"
    )
    assert read_tables(a32) == {"L0x4": ["L0x4+0", "L0x4+4"]}
    assert read_pointers(f"{clang}goto:\n\t.xword\tL0x7\n\t.xword\tL0x8\n\t.long\t9\n") == ["L0x7", "L0x8"]
    assert read_tables(clang) == {"L0xJTI0_0": ["L0xBB0_4", "L0xBB0_5"]}
    assert read_tables(marked) == {"L0x3": ["L0x2", "L0x5"]}
    assert read_tables(mips) == {"L0x4": ["L0x7", "L0x6"]}
    assert read_tables(thumb) == {"L0x8": ["L0x2", "L0x3"]}
    assert read_tables(i386) == {"L0x9": ["L0x1"]}


def test_stripped_files_lose_no_function(files):
    for architecture in ("x86_64", "aarch64"):
        whole = files / f"gcc-O2-{architecture}.so"
        counted = coverage(whole, files / f"gcc-O2-{architecture}-stripped.so")
        assert (counted.found, counted.same_size, counted.extra) == (counted.named, counted.named, 0)


def above(value=1):
    return Step(StepKind.ABOVE, value=value)


def compare(target, value):
    return Step(StepKind.COMPARE, target, value=value)


def copy(target, source):
    return Step(StepKind.COPY, target, source)


def test_the_bound_is_that_of_the_index_and_of_nothing_else():
    # Steps stand nearest first: the comparison comes after its jump.
    assert index_bound([above(), compare("rax", 9)], {"rax"}) == 10
    assert index_bound([above(0), compare("rax", 9)], {"rax"}) == 9
    assert index_bound([above(), compare("rcx", 9)], {"rax"}) is None
    assert index_bound([compare("rax", 9)], {"rax"}) is None
    assert index_bound([above(), compare("rax", -1)], {"rax"}) is None
    assert index_bound([Step(StepKind.MASK, "rax", value=7)], {"rax"}) == 8


def test_the_bound_is_found_through_copies_on_both_sides():
    assert index_bound([copy("rax", "place"), above(), compare("place", 4)], {"rax"}) == 5
    # The index was copied from what is compared, and the comparison stands between.
    assert index_bound([above(), compare("rbp", 7), copy("rax", "rbp")], {"rax"}) == 8
    assert index_bound([above(), compare("rax", 27), copy("rax", "r14")], {"r14"}) == 28
    # A register that was made anew after the comparison is not the one compared.
    steps = [above(), compare("rcx", 3), Step(StepKind.OTHER, "rcx"), copy("rax", "rcx")]
    assert index_bound(steps, {"rax"}) is None


@dataclass
class Line:
    mnemonic: str


@dataclass
class Capstone:
    insns: list


@dataclass
class Piece:
    size: int
    mnemonic: str

    @property
    def capstone(self):
        return Capstone([Line(self.mnemonic)])


def test_angrs_pieces_are_joined_where_only_a_call_or_a_size_limit_split_them():
    code = {
        0: Piece(8, "call"),
        8: Piece(8, "mov"),
        16: Piece(8, "jne"),
        24: Piece(8, "ret"),
        32: Piece(4, "ret"),
    }
    successors = {
        0: [(8, "fake_return")],
        8: [(16, "transition")],
        16: [(24, "transition"), (32, "transition")],
    }
    assert joined_starts(0, code, successors) == {0, 24, 32}


@pytest.mark.parametrize("name", ["gcc-O2-x86_64-stripped.so", "gcc-O2-fixed-x86_64", "clang-O2-x86_64.dll"])
def test_smda_sees_what_the_native_disassembler_sees(files, name):
    pytest.importorskip("smda", reason="smda is an extra")
    from weft.bcsd.disassemble.smda import SmdaDisassembler

    image = open_image(files / name)
    ours = {f.address: len(f.blocks) for f in NativeDisassembler().functions(image)}
    theirs = {f.address: len(f.blocks) for f in SmdaDisassembler().functions(image)}
    shared = ours.keys() & theirs.keys()
    assert len(shared) >= 15
    # It does not follow a computed goto, and one function's jump table differs.
    assert sum(ours[address] != theirs[address] for address in shared) <= 2
