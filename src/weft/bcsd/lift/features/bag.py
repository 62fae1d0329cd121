"""A function's bag of operations: each with its operands' operations, hashed; no names of anything.

    f = h(op)   h(op at least 2, 4, 8, … times)   h(op(o_1, …))   h(op(o_1(p_1, …), …))   h(constant)

o are the operations of the operands and p of theirs, sorted where order says nothing. Extensions, truncations and
negations are passed over, joins and leaves end a chain; an address inside the file is ``@`` whatever lies there. What
counts is which features there are.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable

from weft.bcsd.lift.code import Surroundings
from weft.bcsd.lift.solve.fixed import BIAS
from weft.bcsd.lift.solve.joins import Solved
from weft.bcsd.lift.solve.values import CONST, ENTRY, PHI, STACK, SYMBOL, UNDEFINED

#: Operations whose operands have no order.
COMMUTATIVE = frozenset(
    [
        "ADD",
        "MULT",
        "AND",
        "OR",
        "XOR",
        "EQUAL",
        "BOOL_AND",
        "BOOL_OR",
        "BOOL_XOR",
        "CARRY",
        "SCARRY",
        "FLOAT_ADD",
        "FLOAT_MULT",
        "FLOAT_EQUAL",
    ]
)
_TRANSPARENT = frozenset({"ZEXT", "SEXT", "SUBPIECE", "NOT", "INSERT"})
_LEAVES = frozenset({CONST, STACK, ENTRY, UNDEFINED, SYMBOL})
_CALLS = ("CALL", "CALLIND")
#: Operations that sizes tell apart: those of memory.
_SIZED = frozenset({"LOAD", "STORE"})
#: Terms of a sum that are told apart.
_TERMS = 16
#: Constants up to it are common, those up to the second are features only beside their operation.
_PLAIN, _COMMON = 256, 16
_COUNTS = (2, 4, 8, 16, 32)
_LOWEST_ADDRESS = 0x10000
#: Features are hashed to so many numbers: as good as 2³² on validation packages.
BUCKETS = 1 << 16


class Bagger:
    """Makes the bag of a solved function.

    Args:
        solved: The function.
        around: Its file.
    """

    def __init__(self, solved: Solved, around: Surroundings) -> None:
        self._solved, self._around = solved, around
        self._values = solved.values
        self._bias = BIAS[around.word]
        self._deeper: dict[int, str] = {}
        self._operands: dict[int, list[int]] = {}

    def features(self) -> set[str]:
        """The features, spelled out."""
        ops = self._values.ops
        times: Counter[str] = Counter()
        found: set[str] = set()
        waiting = [self.real(node) for effects in self._solved.effects for node in effects]
        seen = set(waiting)
        while waiting:
            node = waiting.pop()
            for operand in self.operands(node):
                if operand not in seen:
                    seen.add(operand)
                    waiting.append(operand)
            op = ops[node]
            if op == CONST:
                constant = self._constant(node)
                if constant:
                    times[constant] += 1
            elif op == PHI:
                found.update(f"PHI {self.name(operand)}" for operand in self.operands(node))
            elif op not in _LEAVES:
                times[self.name(node)] += 1
                self._describe(node, found)
        for feature, count in times.items():
            found.add(feature)
            found.update(f"{feature}x{least}" for least in _COUNTS if count >= least)
        return found

    def _describe(self, node: int, found: set[str]) -> None:
        operands = self.operands(node)
        if self._values.ops[node] in _CALLS:
            found.update(f"ARG {self.name(operand)}" for operand in operands)
        found.add(self.with_operands(node))
        found.add(self.with_theirs(node))

    def with_operands(self, node: int) -> str:
        """An operation with its operands; a leaf or a join alone."""
        spelled = self._deeper.get(node)
        if spelled is None:
            op = self._values.ops[node]
            spelled = self.name(node)
            if op not in _LEAVES and op != PHI:
                spelled = self._spelled(node, [self.name(operand) for operand in self.operands(node)])
            self._deeper[node] = spelled
        return spelled

    def with_theirs(self, node: int) -> str:
        """An operation with its operands, each with its own."""
        return "D" + self._spelled(node, [self.with_operands(operand) for operand in self.operands(node)])

    def _spelled(self, node: int, names: list[str]) -> str:
        if self._values.ops[node] in COMMUTATIVE:
            names.sort()
        return f"{self.name(node)}({','.join(names)})"

    def operands(self, node: int) -> list[int]:
        """A node's operands, those of a sum with the sums in it opened."""
        known = self._operands.get(node)
        if known is None:
            if self._values.ops[node] == "ADD":
                known = self._terms(node)
            else:
                known = [self.real(arg) for arg in self._values.args[node]]
            self._operands[node] = known
        return known

    def _terms(self, node: int) -> list[int]:
        found: list[int] = []
        waiting = [node]
        while waiting and len(found) + len(waiting) <= _TERMS:
            term = waiting.pop()
            if self._values.ops[term] == "ADD":
                waiting += [self.real(arg) for arg in self._values.args[term]]
            else:
                found.append(term)
        return found + waiting

    def real(self, node: int) -> int:
        """What a node stands for, extensions and truncations passed over."""
        values = self._values
        while True:
            node = self._solved.real(node)
            if values.ops[node] not in _TRANSPARENT or not values.args[node]:
                return node
            node = values.args[node][0]

    def name(self, node: int) -> str:
        """An operation without its operands."""
        op, size = self._values.ops[node], self._values.sizes[node]
        if op == CONST:
            value = self._values.data[node]
            return "@" if self._is_address(value) else bucket(value, size)
        if op == SYMBOL:
            return "@"
        return f"{op}{size}" if op in _SIZED else op

    def _constant(self, node: int) -> str:
        """The feature of a constant by itself; empty for addresses and for what every function has."""
        value, size = self._values.data[node], self._values.sizes[node]
        if abs(_signed(value, size)) <= _COMMON or self._is_address(value):
            return ""
        return f"C{bucket(value, size)}"

    def _is_address(self, value: int) -> bool:
        if self._around.maps(value - self._bias):
            return True
        return self._around.fixed_base and value >= _LOWEST_ADDRESS and self._around.maps(value)


def _signed(value: int, size: int) -> int:
    return value - (1 << 8 * size) if value >> (8 * size - 1) else value


def bucket(value: int, size: int) -> str:
    """A constant's name: the number, the same in every width that it is written in."""
    signed = _signed(value, size)
    if abs(signed) <= _PLAIN:
        return str(signed)
    if size >= 8 and -(1 << 31) <= signed < 1 << 32:
        value = signed & 0xFFFFFFFF
    return f"k{value:x}"


def hashed(features: Iterable[str]) -> list[int]:
    """Features as numbers below :data:`BUCKETS`, sorted and distinct."""
    return sorted({number_of(feature) for feature in features})


def number_of(feature: str) -> int:
    """The number of a feature, below :data:`BUCKETS`."""
    return zlib.crc32(feature.encode()) % BUCKETS
