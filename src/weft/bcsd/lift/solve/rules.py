"""Simplification: one spelling for what compilers and processors write in many ways.

A rule gets the values, the size of the result and the operands, and gives a simpler node, or None where it knows
nothing. Comparisons end as EQUAL, LESS, SLESS and their negations, with a constant on the right; shifts by constants
as products; subtracted constants as sums; flags as the comparison that they came from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.bcsd.lift.solve.values import Values

Rule = Callable[["Values", int, tuple[int, ...]], int | None]

_COUNT_MASKS = (31, 63)
_DEEPEST = 12


def _signed(value: int, size: int) -> int:
    top = 1 << (8 * size - 1)
    return value - 2 * top if value & top else value


def _ordered(v: Values, args: tuple[int, ...]) -> tuple[int, int]:
    """Two operands of a commutative operation: a constant last, else by index."""
    a, b = args
    if v.ops[a] == "CONST" or (v.ops[b] != "CONST" and b < a):
        return b, a
    return a, b


def _copy(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    return args[0] if v.sizes[args[0]] == size else v.make("ZEXT", size, args)


def _add(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = _ordered(v, args)
    right = v.number(b)
    if right is not None:
        left = v.number(a)
        if left is not None:
            return v.const(left + right, size)
        if right == 0:
            return a
        if v.ops[a] == "STACK":
            return v.stack(v.data[a] + _signed(right, size), size)
        if v.ops[a] == "ADD":
            inner = v.number(v.args[a][1])
            if inner is not None:
                return v.make("ADD", size, (v.args[a][0], v.const(inner + right, size)))
        return v.same("ADD", size, (a, b))
    for one, other in ((a, b), (b, a)):
        if v.ops[one] == "ADD" and v.ops[v.args[one][1]] == "CONST":
            # Constants go outward: (x + 8) + y is (x + y) + 8.
            inner, constant = v.args[one]
            return v.make("ADD", size, (v.make("ADD", size, (inner, other)), constant))
        if v.ops[one] == "NEG":
            return v.make("SUB", size, (other, v.args[one][0]))
    factors = [_factor(v, node) for node in (a, b)]
    if factors[0][0] == factors[1][0] and v.ops[a] not in ("STACK",):
        return v.make("MULT", size, (factors[0][0], v.const(factors[0][1] + factors[1][1], size)))
    return v.same("ADD", size, (a, b))


def _factor(v: Values, node: int) -> tuple[int, int]:
    """A node as another one times a constant."""
    if v.ops[node] == "MULT":
        number = v.number(v.args[node][1])
        if number is not None:
            return v.args[node][0], number
    return node, 1


def _sub(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = args
    if a == b:
        return v.const(0, size)
    right = v.number(b)
    if right is not None:
        return v.make("ADD", size, (a, v.const(-right, size)))
    if v.number(a) == 0:
        return v.make("NEG", size, (b,))
    if v.ops[a] == "STACK" and v.ops[b] == "STACK":
        return v.const(v.data[a] - v.data[b], size)
    if v.ops[b] == "NEG":
        return v.make("ADD", size, (a, v.args[b][0]))
    factors = [_factor(v, node) for node in (a, b)]
    if factors[0][0] == factors[1][0]:
        return v.make("MULT", size, (factors[0][0], v.const(factors[0][1] - factors[1][1], size)))
    return None


def _neg(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    number = v.number(args[0])
    if number is not None:
        return v.const(-number, size)
    if v.ops[args[0]] == "NEG":
        return v.args[args[0]][0]
    if v.ops[args[0]] == "SUB":
        a, b = v.args[args[0]]
        return v.make("SUB", size, (b, a))
    return None


def _mult(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = _ordered(v, args)
    right = v.number(b)
    if right is None:
        return v.same("MULT", size, (a, b))
    left = v.number(a)
    if left is not None:
        return v.const(left * right, size)
    if right in (0, 1):
        return a if right else v.const(0, size)
    if right == (1 << 8 * size) - 1:
        return v.make("NEG", size, (a,))
    if v.ops[a] in ("MULT", "ADD"):
        inner = v.number(v.args[a][1])
        if inner is not None and v.ops[a] == "MULT":
            return v.make("MULT", size, (v.args[a][0], v.const(inner * right, size)))
        if inner is not None:
            product = v.make("MULT", size, (v.args[a][0], b))
            return v.make("ADD", size, (product, v.const(inner * right, size)))
    return v.same("MULT", size, (a, b))


def _left(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, count = args[0], _count(v, args[1])
    number = v.number(count)
    if number is None:
        return v.same("LEFT", size, (a, count))
    if number >= 8 * size:
        return v.const(0, size)
    return v.make("MULT", size, (a, v.const(1 << number, size)))


def _count(v: Values, node: int) -> int:
    """A shift's count without the mask that the processor puts on it anyway, and without extensions."""
    while True:
        if (
            (v.ops[node] == "AND" and v.number(v.args[node][1]) in _COUNT_MASKS)
            or v.ops[node] in ("ZEXT", "SEXT")
            or (v.ops[node] == "SUBPIECE" and v.data[node] == 0)
        ):
            node = v.args[node][0]
        else:
            return node


def _right(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, count = args[0], _count(v, args[1])
    number, left = v.number(count), v.number(a)
    if number is None:
        return v.same("RIGHT", size, (a, count))
    if left is not None:
        return v.const(left >> number, size)
    if number == 0:
        return a
    if number >= 8 * size:
        return v.const(0, size)
    inner, factor = _factor(v, a)
    if factor == 1 << number:
        return v.make("AND", size, (inner, v.const((1 << (8 * size - number)) - 1, size)))
    if v.ops[a] == "RIGHT" and (more := v.number(v.args[a][1])) is not None:
        return v.make("RIGHT", size, (v.args[a][0], v.const(more + number, 4)))
    return v.same("RIGHT", size, (a, v.const(number, 4)))


def _sright(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, count = args[0], _count(v, args[1])
    number, left = v.number(count), v.number(a)
    if number is None:
        return v.same("SRIGHT", size, (a, count))
    if left is not None:
        return v.const(_signed(left, size) >> min(number, 8 * size), size)
    if number == 0:
        return a
    inner, factor = _factor(v, a)
    kept = 8 * size - number
    if factor == 1 << number and kept in (8, 16, 32):
        return v.make("SEXT", size, (subpiece(v, kept // 8, inner, 0),))
    return v.same("SRIGHT", size, (a, v.const(number, 4)))


def _and(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = _ordered(v, args)
    if a == b:
        return a
    if size == 1 and v.is_boolean(a) and v.is_boolean(b):
        return v.make("BOOL_AND", 1, (a, b))
    right = v.number(b)
    if right is None:
        return v.same("AND", size, (a, b))
    left = v.number(a)
    if left is not None:
        return v.const(left & right, size)
    if right == (1 << 8 * size) - 1:
        return a
    if right == 0:
        return b
    if v.ops[a] == "STACK":
        # An aligned frame: where in it is not known, but every use agrees.
        return a
    if right == 1:
        bit = _bit(v, a, 0, _DEEPEST)
        if bit is not None:
            return v.make("ZEXT", size, (bit,))
    if v.ops[a] == "AND" and (more := v.number(v.args[a][1])) is not None:
        return v.make("AND", size, (v.args[a][0], v.const(more & right, size)))
    for width in (1, 2, 4):
        if right == (1 << 8 * width) - 1 and width < size:
            return v.make("ZEXT", size, (subpiece(v, width, a, 0),))
    if v.ops[a] == "ZEXT":
        inner = v.args[a][0]
        width = v.sizes[inner]
        return v.make("ZEXT", size, (v.make("AND", width, (inner, v.const(right, width))),))
    return v.same("AND", size, (a, b))


def _bit(v: Values, node: int, place: int, depth: int) -> int | None:
    """One bit of a node as a boolean: condition registers are made of shifted booleans."""
    op = v.ops[node]
    if v.is_boolean(node) and op != "CONST":
        return node if place == 0 else v.const(0, 1)
    if op == "CONST":
        return v.const(v.data[node] >> place & 1, 1)
    if depth == 0:
        return None
    args = v.args[node]
    if op == "RIGHT" and (count := v.number(args[1])) is not None:
        return _bit(v, args[0], place + count, depth - 1)
    if op == "MULT" and (factor := v.number(args[1])) and factor & (factor - 1) == 0:
        shift = factor.bit_length() - 1
        return v.const(0, 1) if place < shift else _bit(v, args[0], place - shift, depth - 1)
    if op in ("ZEXT", "SUBPIECE") and v.data[node] == 0:
        return _bit(v, args[0], place, depth - 1) if place < 8 * v.sizes[args[0]] else v.const(0, 1)
    if op == "AND" and (mask := v.number(args[1])) is not None and not mask >> place & 1:
        return v.const(0, 1)
    if op in ("AND", "OR", "XOR"):
        first = _bit(v, args[0], place, depth - 1)
        second = None if first is None else _bit(v, args[1], place, depth - 1)
        if first is not None and second is not None:
            return v.make(f"BOOL_{op}", 1, (first, second))
    return None


def _or(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = _ordered(v, args)
    if a == b:
        return a
    if size == 1 and v.is_boolean(a) and v.is_boolean(b):
        return v.make("BOOL_OR", 1, (a, b))
    left, right = v.number(a), v.number(b)
    if left is not None and right is not None:
        return v.const(left | right, size)
    return a if right == 0 else v.same("OR", size, (a, b))


def _xor(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a, b = _ordered(v, args)
    if a == b:
        return v.const(0, size)
    if size == 1 and v.is_boolean(a) and v.is_boolean(b):
        return v.make("BOOL_XOR", 1, (a, b))
    left, right = v.number(a), v.number(b)
    if left is not None and right is not None:
        return v.const(left ^ right, size)
    if right == 0:
        return a
    if right == (1 << 8 * size) - 1:
        return v.make("NEGATE", size, (a,))
    return v.same("XOR", size, (a, b))


def _negate(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    number = v.number(args[0])
    if number is not None:
        return v.const(~number, size)
    return v.args[args[0]][0] if v.ops[args[0]] == "NEGATE" else None


def _zext(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a = args[0]
    if v.sizes[a] >= size:
        return subpiece(v, size, a, 0)
    number = v.number(a)
    if number is not None:
        return v.const(number, size)
    if v.ops[a] == "STACK":
        return v.stack(v.data[a], size)
    return v.make("ZEXT", size, v.args[a]) if v.ops[a] == "ZEXT" else None


def _sext(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    a = args[0]
    if v.sizes[a] >= size:
        return subpiece(v, size, a, 0)
    number = v.number(a)
    if number is not None:
        return v.const(_signed(number, v.sizes[a]), size)
    if v.ops[a] in ("SEXT", "ZEXT"):
        return v.make(v.ops[a], size, v.args[a])
    return v.make("ZEXT", size, args) if v.is_boolean(a) else None


#: A truncated result of these depends on their truncated operands alone.
_NARROWS = frozenset({"ADD", "SUB", "MULT", "AND", "OR", "XOR", "NEG", "NEGATE"})
_DIVISIONS = {"DIV": "ZEXT", "REM": "ZEXT", "SDIV": "SEXT", "SREM": "SEXT"}


def subpiece(v: Values, size: int, node: int, skipped: int, depth: int = 0) -> int:
    """Bytes ``[skipped, skipped + size)`` of a node, the lowest first."""
    key = (node, size, skipped)
    known = v.pieces.get(key)
    if known is None:
        known = v.pieces[key] = _subpiece(v, size, node, skipped, depth)
    return known


def _subpiece(v: Values, size: int, node: int, skipped: int, depth: int) -> int:
    width = v.sizes[node]
    if skipped == 0 and size >= width:
        return node if size == width else v.make("ZEXT", size, (node,))
    number = v.number(node)
    if number is not None:
        return v.const(number >> 8 * skipped, size)
    op, args = v.ops[node], v.args[node]
    if op == "STACK" and skipped == 0:
        return v.stack(v.data[node], size)
    if op in ("ZEXT", "SEXT"):
        inner = v.sizes[args[0]]
        if skipped + size <= inner:
            return subpiece(v, size, args[0], skipped)
        if skipped >= inner and op == "ZEXT":
            return v.const(0, size)
        if skipped == 0:
            return v.make(op, size, args)
    if op == "SUBPIECE":
        return subpiece(v, size, args[0], v.data[node] + skipped)
    if op == "PIECE":
        low = v.sizes[args[1]]
        if skipped + size <= low:
            return subpiece(v, size, args[1], skipped)
        if skipped >= low:
            return subpiece(v, size, args[0], skipped - low)
    narrows = op in _NARROWS and all(v.sizes[arg] == width for arg in args)
    divides = op in _DIVISIONS and all(v.ops[arg] in (_DIVISIONS[op], "CONST") for arg in args)
    if skipped == 0 and depth < _DEEPEST and (narrows or divides):
        return v.make(op, size, tuple([subpiece(v, size, arg, 0, depth + 1) for arg in args]))
    return v.same("SUBPIECE", size, (node,), skipped)


def _piece(v: Values, size: int, args: tuple[int, ...]) -> int | None:
    high, low = args
    if v.number(high) is not None and v.number(low) is not None:
        return v.const(v.data[high] << 8 * v.sizes[low] | v.data[low], size)
    if v.number(high) == 0:
        return v.make("ZEXT", size, (low,))
    if v.ops[high] == "SUBPIECE":
        whole = v.args[high][0]
        if (
            v.data[high] == v.sizes[low]
            and v.sizes[whole] == size
            and subpiece(v, v.sizes[low], whole, 0) == low
        ):
            return whole
        if v.ops[whole] == "SEXT" and v.args[whole][0] == low:
            return v.make("SEXT", size, (low,))
    if (
        v.ops[high] == "SRIGHT"
        and v.args[high][0] == low
        and v.number(v.args[high][1]) == 8 * v.sizes[low] - 1
    ):
        return v.make("SEXT", size, (low,))
    return None


RULES: dict[str, Rule] = {
    "COPY": _copy,
    "ADD": _add,
    "SUB": _sub,
    "NEG": _neg,
    "MULT": _mult,
    "LEFT": _left,
    "RIGHT": _right,
    "SRIGHT": _sright,
    "AND": _and,
    "OR": _or,
    "XOR": _xor,
    "NEGATE": _negate,
    "ZEXT": _zext,
    "SEXT": _sext,
    "PIECE": _piece,
}
