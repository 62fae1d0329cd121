"""What a function does to memory and gives to what it calls, as text: the same in both versions for the same effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Literal, NamedTuple

from weft.bcsd.difference.told.arguments import arguments_read
from weft.bcsd.difference.told.spelling import Spelled, Speller, number_text
from weft.bcsd.lift.solve.computation import Computation
from weft.bcsd.lift.solve.values import CONST, STACK, SYMBOL

_TERMS = 8
_LOCAL = "&local"
#: What a callee is compared by that surely is one.
_CALLEES = ("import ", "function ")
#: The key of what does not say which value it is.
ANY = ""
#: Before the key of an argument that is the address of a text, a variable or a function.
ADDRESS = "@"


class Place(NamedTuple):
    """Where something lies.

    Args:
        key: What the address counts from, equal in both versions; :data:`ANY` where that is not sure.
        shown: The same for a person.
        offset: From there.
    """

    key: str
    shown: str
    offset: int


class Store(NamedTuple):
    """A store.

    Args:
        place: Where to.
        size: How many bytes.
        number: What is stored, if it is a constant.
        content: The bytes of that in memory.
        source: Where it is loaded from, if it is copied.
        key: Anything else, equal in both versions; :data:`ANY` where it does not say which value it is.
        shown: The same for a person.
    """

    place: Place
    size: int
    number: int | None
    content: bytes
    source: Place | None
    key: str
    shown: str


class Call(NamedTuple):
    """A call of what has a name in both versions.

    Args:
        callee: The name that is equal in both versions.
        shown: The same for a person.
        args: What it is given, and perhaps leftovers behind that; the key of what does not say which value it is, is
            :data:`ANY`.
        numbers: Whether each is a constant.
    """

    callee: str
    shown: str
    args: tuple[Spelled, ...]
    numbers: tuple[bool, ...]


class Effects(NamedTuple):
    """What one function does.

    Args:
        stores: To memory that others see.
        locals: Constants that it writes to variables on the stack, counted from the stack pointer at entry.
        calls: What it calls.
        read: How many arguments it reads; None where they lie on the stack.
    """

    stores: tuple[Store, ...]
    locals: tuple[Store, ...]
    calls: tuple[Call, ...]
    read: int | None


def effects_of(
    found: Computation,
    speller: Speller,
    constant: Callable[[int], str],
    lines: Mapping[int, frozenset[int]],
    *,
    big_endian: bool,
) -> Effects:
    """The effects of a function.

    Args:
        found: What it computes.
        speller: Of its values.
        constant: The bytes in hex that a load of constant data gives; empty where it reads anything else.
        lines: Call → which of its arguments are the number of a line.
        big_endian: Whether the highest byte of a number comes first.
    """
    told = _Effects(found, speller, constant, "big" if big_endian else "little")
    order = [node for effects in found.effects for node in effects]
    written = [told.store(node) for node in order if found.ops[node] in ("STORE", "LOCAL")]
    stores = [store for store in written if store.place.shown != _LOCAL]
    local = [store for store in written if store.place.shown == _LOCAL and store.number is not None]
    calls = [
        call
        for node in order
        if found.ops[node] == "CALL" and (call := told.call(node, lines.get(node, frozenset())))
    ]
    return Effects(tuple(stores), tuple(local), tuple(dict.fromkeys(calls)), arguments_read(found))


class _Effects:
    def __init__(
        self,
        found: Computation,
        speller: Speller,
        constant: Callable[[int], str],
        order: Literal["little", "big"],
    ) -> None:
        self._found, self._speller, self._constant = found, speller, constant
        self._order: Literal["little", "big"] = order

    def store(self, node: int) -> Store:
        found, size = self._found, self._found.sizes[node]
        address, value = found.args[node][:2]
        number, content = self._speller.number(value), b""
        if number is not None:
            content = number.to_bytes(size, self._order)
        elif found.ops[value] == "LOAD" and (held := bytes.fromhex(self._constant(value))):
            number, content = int.from_bytes(held, self._order), held
        loaded = value
        if found.ops[value] == "SUBPIECE" and found.data[value] == 0 and self._order == "little":
            # The low bytes of what is loaded come first.
            loaded = found.args[value][0]
        source = self._place(found.args[loaded][0]) if found.ops[loaded] == "LOAD" else None
        said = self._speller.spelled(value)
        return Store(
            self._place(address),
            size,
            number,
            content,
            source if source is not None and source.key else None,
            ANY if said.vague else said.key,
            said.shown,
        )

    def call(self, node: int, lines: frozenset[int]) -> Call | None:
        found = self._found
        callee = self._speller.called(found.data[node]) if found.data[node] else None
        if callee is None or not callee.key.startswith(_CALLEES):
            return None
        # What is wider than an address is in a register of vectors, and may be a leftover.
        args = list(takewhile(lambda arg: found.sizes[arg] == found.sizes[node], found.args[node]))
        said = [self._given(arg) for arg in args]
        # What another call left in a register looks like its result.
        sure = [
            place not in lines and not said[place].vague and found.ops[arg] != "CALL"
            for place, arg in enumerate(args)
        ]
        return Call(
            *callee,
            tuple(one if known else Spelled(ANY, one.shown) for one, known in zip(said, sure, strict=True)),
            tuple(found.ops[arg] == CONST for arg in args),
        )

    def _given(self, node: int) -> Spelled:
        said = self._speller.spelled(node)
        found = self._found
        address = found.ops[node] == SYMBOL or (
            found.ops[node] == CONST and self._speller.number(node) is None
        )
        return Spelled(ADDRESS + said.key, said.shown) if address else said

    def _place(self, node: int) -> Place:
        """Where an address leads: sums are opened, so that numbers are one offset."""
        found = self._found
        offset, terms, waiting = 0, list[int](), [node]
        while waiting:
            term = waiting.pop()
            number = self._speller.number(term)
            if found.ops[term] == "ADD" and len(terms) + len(waiting) < _TERMS:
                waiting += found.args[term]
            elif number is not None:
                half = 1 << (8 * found.sizes[term] - 1)
                offset += (number ^ half) - half
            else:
                terms.append(term)
        if len(terms) == 1 and found.ops[terms[0]] == STACK and found.data[terms[0]] < 0:
            return Place(ANY, _LOCAL, found.data[terms[0]] + offset)
        said = sorted(self._speller.spelled(term) for term in terms)
        if not said or any(one.vague for one in said) or any(found.ops[term] == STACK for term in terms):
            return Place(ANY, "", offset)
        return Place(" + ".join(one.key for one in said), " + ".join(one.shown for one in said), offset)


def place_text(shown: str, offset: int) -> str:
    """An address for a person."""
    return f"{shown} {'-' if offset < 0 else '+'} {number_text(abs(offset), 8)}" if offset else shown
