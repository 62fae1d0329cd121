"""Simplification of comparisons and booleans: flags become the comparison that set them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.bcsd.lift.solve.rules import RULES

if TYPE_CHECKING:
    from weft.bcsd.lift.solve.values import Values

_EXTENSIONS = ("ZEXT", "SEXT")


def _not(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    number = v.number(args[0])
    if number is not None:
        return v.const(number ^ 1, 1)
    if v.ops[args[0]] == "NOT":
        return v.args[args[0]][0]
    if v.ops[args[0]] in _EXTENSIONS and v.is_boolean(v.args[args[0]][0]):
        return v.make("NOT", 1, v.args[args[0]])
    return None


def negated(v: Values, op: str, args: tuple[int, ...]) -> int:
    """The negation of an operation that yields a boolean."""
    return v.make("NOT", 1, (v.make(op, 1, args),))


def _equal(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = args
    if v.ops[a] == "CONST" or (v.ops[b] != "CONST" and b < a):
        a, b = b, a
    if a == b:
        return v.const(1, 1)
    left, right = v.number(a), v.number(b)
    if left is not None and right is not None:
        return v.const(left == right, 1)
    if right is None:
        if v.is_boolean(a) and v.is_boolean(b):
            return v.make("NOT", 1, (v.make("BOOL_XOR", 1, (a, b)),))
        if v.ops[a] == v.ops[b] and v.ops[a] in _EXTENSIONS and _widths(v, a) == _widths(v, b):
            return v.make("EQUAL", 1, (v.args[a][0], v.args[b][0]))
        return v.same("EQUAL", 1, (a, b))
    bare = v.args[a][0] if v.ops[a] in _EXTENSIONS else a
    if v.is_boolean(bare):
        if right > 1:
            return v.const(0, 1)
        return bare if right else v.make("NOT", 1, (bare,))
    if v.ops[a] in _EXTENSIONS:
        small = _fits(v, a, right)
        return v.const(0, 1) if small is None else v.make("EQUAL", 1, (bare, small))
    width = v.sizes[a]
    if right == 0 and v.ops[a] in ("SUB", "XOR"):
        return v.make("EQUAL", 1, v.args[a])
    if v.ops[a] == "ADD" and (more := v.number(v.args[a][1])) is not None:
        return v.make("EQUAL", 1, (v.args[a][0], v.const(right - more, width)))
    if right == 0 and v.ops[a] == "NEG":
        return v.make("EQUAL", 1, (v.args[a][0], b))
    return v.same("EQUAL", 1, (a, b))


def _widths(v: Values, node: int) -> int:
    return v.sizes[v.args[node][0]]


def _fits(v: Values, extended: int, number: int) -> int | None:
    """A constant in the width from which a node was extended; None where it cannot be reached."""
    inner = v.args[extended][0]
    small = v.const(number, v.sizes[inner])
    again = v.make(v.ops[extended], v.sizes[extended], (small,))
    return small if v.number(again) == number else None


def _less(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    return _order(v, "LESS", args)


def _sless(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    return _order(v, "SLESS", args)


def _order(v: Values, op: str, args: tuple[int, ...]) -> int | None:
    a, b = args
    if a == b:
        return v.const(0, 1)
    width = v.sizes[a]
    bits = 8 * width
    left, right = v.number(a), v.number(b)
    bias = 1 << (bits - 1) if op == "SLESS" else 0
    if left is not None and right is not None:
        return v.const((left ^ bias) < (right ^ bias), 1)
    largest = ((1 << bits) - 1) ^ bias
    if left is not None:
        # c < x is not x < c + 1.
        return v.const(0, 1) if left == largest else negated(v, op, (b, v.const(left + 1, width)))
    if op == "LESS" and right in (0, 1):
        return v.const(0, 1) if right == 0 else v.make("EQUAL", 1, (a, v.const(0, width)))
    if v.ops[a] in _EXTENSIONS:
        narrower = "LESS" if v.ops[a] == "ZEXT" else op
        if right is not None:
            small = _fits(v, a, right)
            if small is not None:
                return v.make(narrower, 1, (v.args[a][0], small))
        elif v.ops[a] == v.ops[b] and _widths(v, a) == _widths(v, b):
            return v.make(narrower, 1, (v.args[a][0], v.args[b][0]))
    return None


def _bool_or(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = args
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        number = v.number(one)
        if number is not None:
            return v.const(1, 1) if number else other
        # a == b or a < b is a <= b.
        if v.ops[one] == "EQUAL" and v.ops[other] in ("LESS", "SLESS"):
            first, second = v.args[other]
            if v.make("EQUAL", 1, (first, second)) == one:
                return negated(v, v.ops[other], (second, first))
    return v.same("BOOL_OR", 1, (min(a, b), max(a, b)))


def _bool_and(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = args
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        number = v.number(one)
        if number is not None:
            return other if number else v.const(0, 1)
    flipped = tuple(v.make("NOT", 1, (node,)) for node in (a, b))
    joined = v.make("BOOL_OR", 1, flipped)
    if v.ops[joined] != "BOOL_OR":
        return v.make("NOT", 1, (joined,))
    return v.same("BOOL_AND", 1, (min(a, b), max(a, b)))


def _bool_xor(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = args
    if a == b:
        return v.const(0, 1)
    for one, other in ((a, b), (b, a)):
        number = v.number(one)
        if number is not None:
            return v.make("NOT", 1, (other,)) if number else other
        if v.ops[one] == "NOT":
            return v.make("NOT", 1, (v.make("BOOL_XOR", 1, (v.args[one][0], other)),))
        less = _signed_difference(v, one, other)
        if less is not None:
            return less
    return v.same("BOOL_XOR", 1, (min(a, b), max(a, b)))


def _signed_difference(v: Values, overflow: int, negative: int) -> int | None:
    """The sign flag against the overflow flag of one subtraction or addition: a signed comparison."""
    if v.ops[overflow] not in ("SBORROW", "SCARRY") or v.ops[negative] != "SLESS":
        return None
    a, b = v.args[overflow]
    width = v.sizes[a]
    if v.number(v.args[negative][1]) != 0:
        return None
    result = v.args[negative][0]
    if v.ops[overflow] == "SBORROW" and result == v.make("SUB", width, (a, b)):
        return v.make("SLESS", 1, (a, b))
    if v.ops[overflow] == "SCARRY" and result == v.make("ADD", width, (a, b)):
        return v.make("SLESS", 1, (a, v.make("NEG", width, (b,))))
    return None


def _overflow(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    """Nothing overflows with 0."""
    return v.const(0, 1) if v.number(args[1]) == 0 else None


RULES.update(
    {
        "NOT": _not,
        "EQUAL": _equal,
        "NOTEQUAL": lambda v, size, args: negated(v, "EQUAL", args),
        "LESS": _less,
        "SLESS": _sless,
        "LESSEQUAL": lambda v, size, args: negated(v, "LESS", (args[1], args[0])),
        "SLESSEQUAL": lambda v, size, args: negated(v, "SLESS", (args[1], args[0])),
        "BOOL_OR": _bool_or,
        "BOOL_AND": _bool_and,
        "BOOL_XOR": _bool_xor,
        "SBORROW": _overflow,
        "SCARRY": _overflow,
        "CARRY": _overflow,
        "FLOAT_NOTEQUAL": lambda v, size, args: negated(v, "FLOAT_EQUAL", args),
    }
)
