"""What the branches of a function ask, as text: the same for the same question in both versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from weft.bcsd.lift.features.bag import COMMUTATIVE
from weft.bcsd.lift.solve.computation import Computation
from weft.bcsd.lift.solve.values import CONST, ENTRY, PHI, STACK, SYMBOL

_DEPTH = 4
_TRANSPARENT = frozenset({"ZEXT", "SEXT"})
_SIGNS = {
    "ADD": "+",
    "SUB": "-",
    "MULT": "*",
    "DIV": "/",
    "SDIV": "/",
    "REM": "%",
    "SREM": "%",
    "AND": "&",
    "OR": "|",
    "XOR": "^",
    "LEFT": "<<",
    "RIGHT": ">>",
    "SRIGHT": ">>",
    "EQUAL": "==",
    "LESS": "<",
    "SLESS": "<",
    "FLOAT_LESS": "<",
    "FLOAT_EQUAL": "==",
    "BOOL_AND": "&&",
    "BOOL_OR": "||",
}
#: Conditions that bound a number.
ORDERS = frozenset({"LESS", "SLESS", "FLOAT_LESS", "FLOAT_LESSEQUAL", "CARRY", "SCARRY", "SBORROW"})


class Condition(NamedTuple):
    """What a branch asks.

    Args:
        key: Equal for the same question in both versions.
        bounds: Whether it bounds a number.
        text: For a person.
    """

    key: str
    bounds: bool
    text: str


class Named(NamedTuple):
    """An address: what it is compared by, and what a person reads."""

    token: str
    shown: str


def conditions_of(
    found: Computation, address_of: Callable[[int], int | None], name: Callable[[int], Named]
) -> tuple[Condition, ...]:
    """What the branches of a function ask, sorted.

    Args:
        found: What it computes.
        address_of: The address that a number of a size is; None where it is none.
        name: What an address is.
    """
    return _Conditions(found, address_of, name).all()


class _Conditions:
    def __init__(
        self, found: Computation, address_of: Callable[[int], int | None], name: Callable[[int], Named]
    ) -> None:
        self._found, self._address_of, self._name = found, address_of, name

    def all(self) -> tuple[Condition, ...]:
        """Of all branches, sorted."""
        found = self._found
        asked = (node for effects in found.effects for node in effects if found.ops[node] == "BRANCH")
        return tuple(sorted(self._condition(found.args[node][0]) for node in asked))

    def _condition(self, node: int) -> Condition:
        found, inner = self._found, node
        while found.ops[inner] in (*_TRANSPARENT, "NOT") and found.args[inner]:
            inner = found.args[inner][0]
        key, text = (self._spelled(node, _DEPTH, shown=shown) for shown in (False, True))
        return Condition(key, found.ops[inner] in ORDERS, text)

    def _said(self, address: int, shown: bool) -> str:
        name = self._name(address)
        return name.shown if shown else name.token

    def _spelled(self, node: int, depth: int, *, shown: bool) -> str:
        found = self._found
        op, args, data = found.ops[node], found.args[node], found.data[node]
        if op == CONST:
            address = self._address_of(data)
            return self._said(address, shown) if address is not None else _shown(data, found.sizes[node])
        if op == SYMBOL:
            return self._said(data, shown)
        if op == STACK:
            return "&local" if data < 0 else f"&stack[{data:#x}]"
        if op == ENTRY:
            return f"arg{found.arguments.index(data) + 1}" if data in found.arguments else "entry"
        if op == PHI:
            return "join"
        if depth == 0:
            return "…"
        if op in _TRANSPARENT or (op == "SUBPIECE" and data == 0):
            return self._spelled(args[0], depth, shown=shown)
        inner = [self._spelled(arg, depth - 1, shown=shown) for arg in args]
        if op in COMMUTATIVE and found.ops[args[-1]] != CONST:
            inner.sort()
        if op == "LOAD":
            return f"u{8 * found.sizes[node]}[{_bare(inner[0])}]"
        if op == "CALL":
            return f"{self._said(data, shown) if data else 'call'}()"
        if op in ("NOT", "NEG", "NEGATE"):
            return f"{ {'NOT': '!', 'NEG': '-', 'NEGATE': '~'}[op] }{inner[0]}"
        if op in _SIGNS and len(inner) == 2:
            signed = "s" if op in ("SLESS", "SDIV", "SREM", "SRIGHT") else ""
            return f"({inner[0]} {_SIGNS[op]}{signed} {inner[1]})"
        return f"{op.lower()}({', '.join(inner)})"


def _bare(text: str) -> str:
    """A text without the brackets that hold all of it."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _shown(value: int, size: int) -> str:
    signed = value - (1 << 8 * size) if value >> (8 * size - 1) else value
    return str(signed) if abs(signed) < 10 else hex(signed)
