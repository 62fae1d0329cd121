"""A value as text: for a person, and as a key that is equal for the same value in both versions."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from weft.bcsd.lift.features.bag import COMMUTATIVE
from weft.bcsd.lift.solve.computation import Computation
from weft.bcsd.lift.solve.values import CONST, ENTRY, PHI, STACK, SYMBOL, UNDEFINED

_DEPTH = 4
_OFFSET = re.compile(r" [+-] -?(?:0x[0-9a-f]+|\d)\b")
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
#: Results of which nobody knows what they are.
_UNSURE = frozenset({UNDEFINED, "CALLIND", "CALLOTHER", "SYSTEM"})
#: In a key before what does not say which value it is.
_VAGUE = "\0"
#: The token of an address of which nothing is known.
UNKNOWN = "data"


#: Operations of which a constant operand is a mask, a factor or a count.
_OF_NUMBERS = frozenset({"AND", "OR", "XOR", "MULT", "DIV", "SDIV", "REM", "SREM", "LEFT", "RIGHT", "SRIGHT"})


class Place(NamedTuple):
    """An address in a sum: itself, or taken away (``p - table``)."""

    sign: str
    address: int


class Named(NamedTuple):
    """An address: what it is compared by, and what a person reads."""

    token: str
    shown: str


class Spelled(NamedTuple):
    """A value.

    Args:
        key: Equal for the same value in both versions.
        shown: For a person.
    """

    key: str
    shown: str

    @property
    def vague(self) -> bool:
        """Whether other values have this key, too: joins, what is too deep, addresses of which nothing is known."""
        return _VAGUE in self.key


class Speller:
    """Spells the values of one function.

    Args:
        found: What it computes.
        address_of: The address that a number of a size is; None where it is none.
        name: What an address is.
    """

    def __init__(
        self, found: Computation, address_of: Callable[[int], int | None], name: Callable[[int], Named]
    ) -> None:
        self._found, self._address_of, self._name = found, address_of, name

    def spelled(self, node: int) -> Spelled:
        """A value, four operations deep."""
        return Spelled(*(self._text(node, _DEPTH, shown=shown) for shown in (False, True)))

    def called(self, address: int) -> Spelled:
        """What lies at an address, or is called there."""
        return Spelled(*(self._said(address, shown) for shown in (False, True)))

    def number(self, node: int) -> int | None:
        """The value of a constant that is no address; None of anything else."""
        found = self._found
        if found.ops[node] != CONST or self._address_of(found.data[node]) is not None:
            return None
        return found.data[node]

    def _said(self, address: int, shown: bool) -> str:
        name = self._name(address)
        if shown:
            return name.shown
        return _VAGUE + name.token if name.token == UNKNOWN else name.token

    def _text(self, node: int, depth: int, *, shown: bool) -> str:
        found, vague = self._found, "" if shown else _VAGUE
        op, args, data = found.ops[node], found.args[node], found.data[node]
        if op == CONST:
            place = place_of(self._address_of, data, found.sizes[node])
            if place is None:
                return number_text(data, found.sizes[node])
            return place.sign + self._said(place.address, shown)
        if op == SYMBOL:
            return self._said(data, shown)
        if op == STACK:
            return "&local" if data < 0 else f"&stack[{data:#x}]"
        if op == ENTRY:
            return f"arg{found.arguments.index(data) + 1}" if data in found.arguments else f"{vague}entry"
        if op == PHI:
            return f"{vague}join"
        if depth == 0:
            return f"{vague}…"
        if op in _TRANSPARENT or (op == "SUBPIECE" and data == 0):
            return self._text(args[0], depth, shown=shown)
        inner = [
            number_text(found.data[arg], found.sizes[arg])
            if is_number(found, node, arg)
            else self._text(arg, depth - 1, shown=shown)
            for arg in args
        ]
        if op in COMMUTATIVE and found.ops[args[-1]] != CONST:
            inner.sort()
        if op == "LOAD":
            return f"u{8 * found.sizes[node]}[{bare(inner[0])}]"
        if op == "CALL":
            return f"{self._said(data, shown) if data else f'{vague}call'}()"
        if op in ("NOT", "NEG", "NEGATE"):
            return f"{ {'NOT': '!', 'NEG': '-', 'NEGATE': '~'}[op] }{inner[0]}"
        if op in _SIGNS and len(inner) == 2:
            signed = "s" if op in ("SLESS", "SDIV", "SREM", "SRIGHT") else ""
            return f"({inner[0]} {_SIGNS[op]}{signed} {inner[1]})"
        unsure = vague if op in _UNSURE else ""
        return f"{unsure}{op.lower()}({', '.join(inner)})"


def is_number(found: Computation, node: int, arg: int) -> bool:
    """Whether an operand of a node is a plain number, whatever lies at that address: a mask, what is left by one."""
    if found.ops[arg] != CONST:
        return False
    op = found.ops[node]
    return op in _OF_NUMBERS or (
        op == "EQUAL" and any(found.ops[other] in _OF_NUMBERS for other in found.args[node])
    )


def place_of(address_of: Callable[[int], int | None], value: int, size: int) -> Place | None:
    """The address that a number of so many bytes is, or is the negative of; None where it is none."""
    address = address_of(value)
    if address is not None:
        return Place("", address)
    address = address_of(-value & ((1 << 8 * size) - 1))
    return None if address is None else Place("-", address)


def bare(text: str) -> str:
    """A text without the brackets that hold all of it."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def without_offsets(text: str) -> str:
    """A text without the numbers that are added in it: alike for a field that lies elsewhere."""
    return _OFFSET.sub("", text)


def number_text(value: int, size: int) -> str:
    """A number of so many bytes; what may be meant as a negative one is."""
    signed = value - (1 << 8 * size) if value >> (8 * size - 1) else value
    return str(signed) if abs(signed) < 10 else hex(signed)
