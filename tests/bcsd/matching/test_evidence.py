"""What two functions share: agreement as its formula says it, constants and strings as they stand in the file."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from weft.bcsd.disassemble.interface import Block, Function, Reference, ReferenceKind
from weft.bcsd.matching.facts import constants, strings
from weft.bcsd.matching.pairs.evidence import call_matrix, neighbour_agreement, shared_mentions

MENTIONS = st.lists(st.lists(st.integers(0, 6), unique=True, max_size=4), min_size=1, max_size=5)


def cosine(first, second, weight):
    dot = sum(weight[item] ** 2 for item in set(first) & set(second))
    norms = math.sqrt(sum(weight[i] ** 2 for i in first) * sum(weight[i] ** 2 for i in second))
    return dot / norms if norms else 0.0


@settings(deadline=None, max_examples=30)
@given(MENTIONS, MENTIONS)
def test_shared_mentions_equal_the_formula(first, second):
    everything = [*first, *second]
    weight = {i: math.log(1 + len(everything) / max(1, sum(i in m for m in everything))) for i in range(7)}
    wanted = [[cosine(a, b, weight) for b in second] for a in first]
    np.testing.assert_allclose(shared_mentions(first, second).toarray(), wanted, atol=1e-6)


def test_nothing_mentioned_is_nothing_to_see():
    assert shared_mentions([[], ["malloc"]], [[]]).toarray().tolist() == [[0.0], [0.0]]


def test_neighbours_agree_as_far_as_they_are_matched():
    # 0 calls 1 and 2 in A, 0 calls 1 in B; both callees are called once.
    first, second = call_matrix([[1, 2], [], []]), call_matrix([[1], []])
    matched = sparse.csr_array(np.array([[0, 0], [0, 0.5], [0, 0]], dtype=np.float32))
    agreement = neighbour_agreement(first, second, matched).toarray()
    assert agreement[0, 0] == pytest.approx(0.5 / math.sqrt(2), abs=1e-6)
    assert agreement.sum() == pytest.approx(agreement[0, 0])
    whole = sparse.csr_array(np.array([[0, 0], [0, 1], [0, 0]], dtype=np.float32))
    assert neighbour_agreement(first, second, whole).toarray()[0, 0] > agreement[0, 0]


def function(*instructions, references=None):
    listed = [(4 * i, 4, *text.split(" ", 1)) for i, text in enumerate(instructions)]
    return Function("f", 0, 4 * len(listed), listed, [Block(0, len(listed))], [], references or {})


def test_constants_are_exact_and_addresses_are_none():
    found = function(
        "mov eax, 0x9e3779b1", "add ecx, 0x10", "cmp edx, 0xfffffc18", "mov rdi, 0x404000",
        references={3: Reference(ReferenceKind.DATA_CONSTANT, 0x404000)},
    )  # fmt: skip
    assert constants(found, "x86_64") == [0x9E3779B1 - (1 << 32), -1000]


def test_a_constant_in_pieces_is_whole():
    found = function("mov w0, #0x79b1", "movk w0, #0x9e37, lsl #16", "add x1, x2, #0x123")
    assert constants(found, "aarch64") == [0x9E3779B1 - (1 << 32), 0x123]


class Memory:
    def __init__(self, raw):
        self.raw = raw

    def read(self, address, size):
        return self.raw[address : address + size]


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"invalid block type\0", ["invalid block type"]),
        (b"line\n\0", ["line\n"]),
        (b"abc\0", []),
        (b"no end", []),
        (b"bytes\xff\0", []),
        (b"x" * 500 + b"\0", []),
        (b"", []),
    ],
)
def test_strings_are_texts_with_an_end(raw, found):
    one = function("lea rdi, [rip]", references={0: Reference(ReferenceKind.DATA_CONSTANT, 0)})
    assert strings(one, Memory(raw)) == found
    other = function("lea rdi, [rip]", references={0: Reference(ReferenceKind.DATA_WRITABLE, 0)})
    assert strings(other, Memory(raw)) == []
