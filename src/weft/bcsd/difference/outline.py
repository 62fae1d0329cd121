"""What a function computes as one number: no register, no order of blocks, no address.

    value   v = h(operation, size, values of the operands)        sorted where order says nothing, sums flattened
    load    v = h(LOAD, size, address, last call before it, stores to that address since)
    join    v = h(join, values that meet, each with what decides for it)     as they were a round before
    piece   p = h(calls, branches, returns in order; stores between them as a set; where it goes, by condition, by case)
    digest    = h(all p, all joins)                               after some rounds

Two functions of one digest differ by relocation, registers, slots of spilled values, the layout of their blocks or the
order of independent operations at most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from weft.bcsd.difference.chains import chains_of, operands_first
from weft.bcsd.difference.decisions import Decisions
from weft.bcsd.difference.told.conditions import Condition, conditions_of
from weft.bcsd.difference.told.effects import Effects, effects_of
from weft.bcsd.difference.told.spelling import Named, Speller, is_number, place_of
from weft.bcsd.lift.features.bag import COMMUTATIVE
from weft.bcsd.lift.solve.computation import Computation
from weft.bcsd.lift.solve.values import CONST, PHI, STACK, SYMBOL

_ROUNDS = 6
_TERMS = 16
_CALLS = frozenset({"CALL", "CALLIND", "CALLOTHER", "SYSTEM"})
_SOURCE = re.compile(r"\.(c|cc|cpp|cxx|h|hh|hpp|inc|m|y|l|rs|go)\"$", re.IGNORECASE)


@dataclass(frozen=True)
class Outline:
    """What a function computes.

    Args:
        digest: Equal for functions that compute the same.
        lineless: The same without the number of a line that a call is given right after the name of a source file.
        conditions: Of its branches.
        mentions: Texts, imports and constants of the file that it reads.
        effects: What it stores, and what it gives to what it calls.
    """

    digest: int
    lineless: int
    conditions: tuple[Condition, ...]
    mentions: tuple[str, ...]
    effects: Effects


class Outliner:
    """Works out the outline of one function.

    Args:
        found: What it computes.
        address_of: The address that a number of a size is; None where it is none.
        name: What an address is.
        read: The constant bytes at an address, in hex; empty where they are not constant.
        big_endian: Whether the highest byte of a number comes first.
    """

    def __init__(
        self,
        found: Computation,
        address_of: Callable[[int], int | None],
        name: Callable[[int], Named],
        read: Callable[[int, int], str],
        *,
        big_endian: bool = False,
    ) -> None:
        self._big_endian = big_endian
        self._found, self._address_of, self._name, self._read = found, address_of, name, read
        own = {node for node, op in enumerate(found.ops) if op == STACK and found.data[node] < 0}
        self._frame = max((found.data[node] for node in own), default=0)
        self._handed = own & _handed_out(found)
        #: From here on a slot may lie inside a variable that is handed out.
        self._lowest = min((found.data[node] for node in self._handed), default=0)
        self._chains = chains_of(found)
        self._order = operands_first(found)
        decisions = Decisions(found)
        #: Of a join: each value with a branch that decides for it, and how.
        self._ways = {
            node: [(value, *made) for value, *between in ways for made in decisions.of(*between)]
            for node, ways in enumerate(found.ways)
            if ways
        }
        #: Of a node: its operands that are numbers, though something may lie at such an address.
        self._numbers = [
            {arg: _plain(found.data[arg], found.sizes[arg]) for arg in args if is_number(found, node, arg)}
            for node, args in enumerate(found.args)
        ]
        self._segments()

    def outline(self) -> Outline:
        """The outline."""
        speller = Speller(self._found, self._address_of, self._name)
        return Outline(
            self._digest(lines=True),
            self._digest(lines=False),
            conditions_of(self._found, speller),
            self._mentions(),
            effects_of(self._found, speller, self._constant, self._lines(), big_endian=self._big_endian),
        )

    # -- the digest --

    def _segments(self) -> None:
        """For each effect: the piece, the call before it, the stores to each address since that call."""
        found = self._found
        self._home: dict[int, int] = {}
        self._call: dict[int, int] = {}
        self._stores: dict[int, dict[int, int]] = {}
        for number, chain in enumerate(self._chains.effects):
            call, stores = -1, dict[int, int]()
            for node in chain:
                if found.ops[node] in _CALLS:
                    call, stores = node, {}
                elif found.ops[node] == "STORE":
                    place = found.args[node][0]
                    stores = {**stores, place: stores.get(place, 0) + 1}
                self._home[node], self._call[node], self._stores[node] = number, call, stores

    def _digest(self, *, lines: bool) -> int:
        found = self._found
        labels = [0] * len(found.ops)
        pieces = [0] * len(self._chains.effects)
        leaves = {node: self._leaf(node) for node in self._order}
        masked = {} if lines else self._lines()
        for _ in range(_ROUNDS):
            before = labels.copy()
            for node in self._order:
                labels[node] = self._label(node, leaves[node], labels, before, pieces, masked.get(node))
            contents = [self._content(chain, labels) for chain in self._chains.effects]
            places = [0] * len(pieces)
            for number, content in enumerate(contents):
                true = self._chains.true[number]
                places[number] = hash(
                    (
                        content,
                        pieces[number],
                        -1 if true is None else pieces[true],
                        tuple(sorted(pieces[other] for other in self._chains.others[number])),
                        tuple(pieces[entry] if entry >= 0 else 0 for entry in self._chains.entries[number]),
                        tuple(sorted(pieces[earlier] for earlier in self._chains.before[number])),
                    )
                )
            pieces = places
        joins = sorted(labels[node] for node in self._order if found.ops[node] == PHI)
        return hash((tuple(sorted(pieces)), tuple(joins), found.opaque))

    def _leaf(self, node: int) -> int:
        """What a node is without its operands."""
        found = self._found
        op, size, data = found.ops[node], found.sizes[node], found.data[node]
        if op == CONST:
            place = place_of(self._address_of, data, size)
            return (
                _plain(data, size)
                if place is None
                else _number(f"{place.sign}@{self._name(place.address).token}")
            )
        if op == SYMBOL:
            return _number(f"@{self._name(data).token}")
        if op == STACK:
            # Where a spilled value lies is of no interest; where a variable lies that is handed out is its size, and
            # what is read of it is one of its fields.
            return hash((_number(op), data - self._frame if data < self._lowest else data))
        if op == "CALL":
            return _number(f"CALL {self._name(data).token}" if data else op)
        if op == "LOAD":
            held = self._constant(node)
            return _number(f"= {held}") if held else hash((_number(op), size))
        if op == "BRANCH":
            return _number(op)
        return hash((_number(op), size, data))

    def _constant(self, node: int) -> str:
        found = self._found
        place = found.args[node][0]
        if found.ops[place] != CONST:
            return ""
        address = self._address_of(found.data[place])
        return "" if address is None else self._read(address, found.sizes[node])

    def _label(
        self,
        node: int,
        leaf: int,
        labels: list[int],
        before: list[int],
        pieces: list[int],
        masked: frozenset[int] | None,
    ) -> int:
        found = self._found
        op, args = found.ops[node], found.args[node]
        numbers = self._numbers[node]
        if numbers:
            told = (numbers.get(arg, labels[arg]) for arg in args)
            return hash((leaf, tuple(sorted(told) if op in COMMUTATIVE else told)))
        if op == PHI:
            return hash((leaf, tuple(sorted({self._way(before, *way) for way in self._ways[node]}))))
        if op == "LOAD":
            if self._constant(node):
                return leaf
            return hash((leaf, labels[args[0]], self._memory(node, before, pieces)))
        if op == "ADD":
            return hash((leaf, tuple(sorted(labels[term] for term in self._terms(node)))))
        if op in COMMUTATIVE:
            return hash((leaf, tuple(sorted(labels[arg] for arg in args))))
        if masked:
            return hash(
                (leaf, tuple(0 if place in masked else labels[arg] for place, arg in enumerate(args)))
            )
        return hash((leaf, tuple(labels[arg] for arg in args)))

    @staticmethod
    def _way(before: list[int], value: int, branch: int, side: int) -> int:
        return hash((before[value], before[branch] if branch >= 0 else 0, side))

    def _memory(self, node: int, before: list[int], pieces: list[int]) -> int:
        """What a load may see: what was called or where paths met last, and how often its address was written since."""
        after, place = self._found.data[node], self._found.args[node][0]
        if after < 0:
            return hash((pieces[self._chains.home[-after - 1]], 0))
        effect = after - 1
        if effect not in self._home:
            return hash((0, 0))
        call, number = self._call[effect], self._home[effect]
        since = before[call] if call >= 0 else self._start(number, before, pieces)
        return hash((since, self._stores[effect].get(place, 0)))

    def _start(self, number: int, before: list[int], pieces: list[int]) -> int:
        """What memory holds where a chain begins: as it was left by the one before, if there is one alone."""
        seen = {number}
        while len(self._chains.before[number]) == 1:
            number = self._chains.before[number][0]
            if number in seen:
                break
            seen.add(number)
            effects = self._chains.effects[number]
            call = self._call[effects[-1]] if effects else -1
            if call >= 0:
                return before[call]
        return pieces[number] if self._chains.before[number] else 0

    def _terms(self, node: int) -> list[int]:
        found, terms, waiting = self._found, list[int](), [node]
        while waiting and len(terms) + len(waiting) <= _TERMS:
            term = waiting.pop()
            if found.ops[term] == "ADD" and found.sizes[term] == found.sizes[node]:
                waiting += found.args[term]
            else:
                terms.append(term)
        return terms + waiting

    def _content(self, chain: Sequence[int], labels: list[int]) -> int:
        """The effects of a piece: stores between two calls in any order, but for those to one address."""
        parts: list[int] = []
        stores: list[int] = []
        often: dict[int, int] = {}
        for node in chain:
            if self._found.ops[node] in ("STORE", "LOCAL"):
                place = labels[self._found.args[node][0]]
                often[place] = often.get(place, 0) + 1
                stores.append(hash((labels[node], often[place])))
                continue
            parts += [hash(tuple(sorted(stores))), labels[node]]
            stores, often = [], {}
        return hash((*parts, hash(tuple(sorted(stores)))))

    def _lines(self) -> dict[int, frozenset[int]]:
        """Call → its arguments that are the number of a line: constants right after a source file's name."""
        found = self._found
        marked: dict[int, frozenset[int]] = {}
        for node in self._order:
            if found.ops[node] not in ("CALL", "CALLIND"):
                continue
            args = found.args[node]
            places = frozenset(
                place
                for place in range(1, len(args))
                if found.ops[args[place]] == CONST and self._is_source(args[place - 1])
            )
            if places:
                marked[node] = places
        return marked

    def _is_source(self, node: int) -> bool:
        found = self._found
        if found.ops[node] != CONST:
            return False
        address = self._address_of(found.data[node])
        return address is not None and _SOURCE.search(self._name(address).token) is not None

    # -- mentions --

    def _mentions(self) -> tuple[str, ...]:
        found = self._found
        told: set[str] = set()
        for node in self._order:
            op, data = found.ops[node], found.data[node]
            if op == "LOAD":
                told.add(f"= {self._constant(node)}")
            elif op == "CALL" and data:
                told.add(self._name(data).token)
            elif op == SYMBOL:
                told.add(self._name(data).token.replace("import ", "extern "))
            elif op == CONST and (address := self._address_of(data)) is not None:
                told.add(self._name(address).token.replace("import ", "extern "))
        telling = ('"', "import ", "extern ", "= ")
        return tuple(sorted(token for token in told if token.startswith(telling) and token != "= "))


def _handed_out(found: Computation) -> set[int]:
    """Nodes that are used as values: not only as the place of a load or a store."""
    used: set[int] = set()
    for op, args in zip(found.ops, found.args, strict=True):
        used.update(args[1:] if op in ("LOAD", "STORE") else args)
    return used


def _plain(value: int, size: int) -> int:
    return _number(f"{value:x}:{size}")


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=7).digest(), "big")
