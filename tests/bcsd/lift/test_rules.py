"""Rules of simplification: what compilers write in many ways becomes one node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft.bcsd.lift.solve.comparisons  # noqa: F401  its rules register themselves
from weft.bcsd.lift.solve.rules import subpiece
from weft.bcsd.lift.solve.values import Values


@pytest.fixture
def v():
    return Values()


def variable(v, size=4, number=0):
    return v.same("ENTRY", size, (), number)


def test_shifts_and_repeated_sums_are_products(v):
    x = variable(v)
    three = v.make("MULT", 4, (x, v.const(3, 4)))
    assert v.make("ADD", 4, (v.make("LEFT", 4, (x, v.const(1, 1))), x)) == three
    assert v.make("SUB", 4, (v.make("LEFT", 4, (x, v.const(2, 4))), x)) == three


def test_constants_go_outward(v):
    x, y = variable(v), variable(v, number=1)
    one = v.make("ADD", 4, (v.make("ADD", 4, (x, v.const(8, 4))), y))
    other = v.make("SUB", 4, (v.make("ADD", 4, (y, x)), v.const(-8, 4)))
    assert one == other
    assert v.number(v.args[one][1]) == 8


@pytest.mark.parametrize("subtrahend", ["variable", "number"])
def test_flags_are_the_comparison_that_set_them(v, subtrahend):
    a = variable(v)
    b = variable(v, number=1) if subtrahend == "variable" else v.const(7, 4)
    difference = v.make("SUB", 4, (a, b))
    sign = v.make("SLESS", 1, (difference, v.const(0, 4)))
    zero = v.make("EQUAL", 1, (difference, v.const(0, 4)))
    overflow = v.make("SBORROW", 1, (a, b))
    less = v.make("SLESS", 1, (a, b))
    assert zero == v.make("EQUAL", 1, (a, b))
    assert v.make("NOTEQUAL", 1, (overflow, sign)) == less
    at_most = v.make("BOOL_OR", 1, (zero, v.make("NOTEQUAL", 1, (overflow, sign))))
    assert at_most == v.make("SLESSEQUAL", 1, (a, b))
    # The same as AArch64 says it: greater is not zero and no overflow.
    greater = v.make("BOOL_AND", 1, (v.make("NOT", 1, (zero,)), v.make("EQUAL", 1, (overflow, sign))))
    assert greater == v.make("NOT", 1, (at_most,))


def test_carry_of_a_subtraction_is_an_unsigned_comparison(v):
    a, b = variable(v), variable(v, number=1)
    carry = v.make("LESSEQUAL", 1, (b, a))
    zero = v.make("EQUAL", 1, (v.make("SUB", 4, (a, b)), v.const(0, 4)))
    higher = v.make("BOOL_AND", 1, (carry, v.make("NOT", 1, (zero,))))
    assert higher == v.make("LESS", 1, (b, a))


def test_a_bit_of_a_condition_register_is_its_comparison(v):
    a = variable(v, 8)
    less = v.make("SLESS", 1, (a, v.const(0, 8)))
    equal = v.make("EQUAL", 1, (a, v.const(0, 8)))
    field = v.make(
        "OR", 1, (v.make("LEFT", 1, (less, v.const(3, 4))), v.make("LEFT", 1, (equal, v.const(1, 4))))
    )
    assert v.make("AND", 1, (v.make("RIGHT", 1, (field, v.const(1, 4))), v.const(1, 1))) == equal
    assert v.make("AND", 1, (v.make("RIGHT", 1, (field, v.const(3, 4))), v.const(1, 1))) == less


def test_a_comparison_stored_and_tested_is_the_comparison(v):
    less = v.make("SLESS", 1, (variable(v), v.const(5, 4)))
    stored = v.make("ZEXT", 4, (less,))
    assert v.make("NOTEQUAL", 1, (stored, v.const(0, 4))) == less


def test_extended_operands_are_compared_as_they_were(v):
    a, b = variable(v), variable(v, number=1)
    wide = [v.make("SEXT", 8, (x,)) for x in (a, b)]
    assert v.make("SLESS", 1, tuple(wide)) == v.make("SLESS", 1, (a, b))
    assert v.make("SLESS", 1, (wide[0], v.const(-3, 8))) == v.make("SLESS", 1, (a, v.const(-3, 4)))


def test_a_sum_of_wide_registers_cut_is_a_sum_of_narrow_ones(v):
    a = variable(v)
    wide = v.make("ADD", 8, (v.make("SEXT", 8, (a,)), v.const(1, 8)))
    assert subpiece(v, 4, wide, 0) == v.make("ADD", 4, (a, v.const(1, 4)))


def test_halves_of_a_value_are_the_value(v):
    x = variable(v, 8)
    halves = subpiece(v, 4, x, 4), subpiece(v, 4, x, 0)
    assert v.make("PIECE", 8, halves) == x


def test_endless_doubling_stays_small(v):
    x = variable(v)
    for _ in range(200):
        x = v.make("ADD", 4, (v.make("XOR", 4, (x, v.make("RIGHT", 4, (x, v.const(3, 4))))), x))
        subpiece(v, 1, x, 0)
    assert len(v) < 50_000


_OPERATIONS = {
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MULT": lambda a, b: a * b,
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
    "EQUAL": lambda a, b: int(a == b),
    "LESS": lambda a, b: int(a < b),
    "SLESS": lambda a, b: int(_signed(a) < _signed(b)),
}


def _signed(value):
    return value - (1 << 16) if value >> 15 else value


def _evaluate(v, node, inputs):
    op, size = v.ops[node], v.sizes[node]
    if op == "CONST":
        return v.data[node]
    if op == "ENTRY":
        return inputs[v.data[node]]
    a = [_evaluate(v, arg, inputs) for arg in v.args[node]]
    mask = (1 << 8 * size) - 1
    if op in ("NOT", "BOOL_XOR", "BOOL_OR", "BOOL_AND"):
        return {"NOT": lambda: 1 - a[0], "BOOL_XOR": lambda: a[0] ^ a[1]}.get(
            op, lambda: a[0] | a[1] if op == "BOOL_OR" else a[0] & a[1]
        )()
    if op == "ZEXT":
        return a[0]
    if op == "SUBPIECE":
        return a[0] >> 8 * v.data[node] & mask
    if op == "NEG":
        return -a[0] & mask
    if op == "NEGATE":
        return ~a[0] & mask
    return _OPERATIONS[op](*a) & mask


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(sorted(_OPERATIONS)), st.integers(0, 9), st.integers(0, 9)), max_size=8
    ),
    constants=st.lists(st.integers(0, 0xFFFF), min_size=2, max_size=2),
    inputs=st.lists(st.integers(0, 0xFFFF), min_size=2, max_size=2),
)
def test_simplified_values_are_right(steps, constants, inputs):
    v = Values()
    nodes = [variable(v, 2, 0), variable(v, 2, 1), *(v.const(c, 2) for c in constants)]
    expected = [*inputs, *constants]
    for op, first, second in steps:
        i, j = first % len(nodes), second % len(nodes)
        result = _OPERATIONS[op](expected[i], expected[j]) & 0xFFFF
        if op in ("EQUAL", "LESS", "SLESS"):
            node = v.make("ZEXT", 2, (v.make(op, 1, (nodes[i], nodes[j])),))
        else:
            node = v.make(op, 2, (nodes[i], nodes[j]))
        nodes.append(node)
        expected.append(result)
        assert _evaluate(v, node, inputs) == result
