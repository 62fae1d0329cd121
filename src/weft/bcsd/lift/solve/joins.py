"""Where paths meet: what loops write, and what is left of joins when all of a function is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from weft.bcsd.lift.code import Surroundings
from weft.bcsd.lift.decode.flow import Flow
from weft.bcsd.lift.decode.units import Bits
from weft.bcsd.lift.solve.fixed import is_address
from weft.bcsd.lift.solve.values import PHI, UNDEFINED, Values

#: Pieces looked at in finding the loops of a function, beyond which a loop is taken to write everything.
_LOOP_STEPS = 2_000_000
_PASSES = 20


class Way(NamedTuple):
    """One value of a join.

    Args:
        value: Its node.
        source: The piece that control comes from; -1 where the function is entered.
        target: The piece where the ways meet.
    """

    value: int
    source: int
    target: int


@dataclass(frozen=True)
class Solved:
    """A function in single assignment.

    Args:
        values: All nodes.
        effects: Per piece, in order: stores, calls, branches, returns.
        same: Joins that turned out to be another node.
        ways: By which way each join has its values.
    """

    values: Values
    effects: list[list[int]]
    same: dict[int, int]
    ways: dict[int, list[Way]]

    def real(self, node: int) -> int:
        """The node that a node stands for."""
        while node in self.same:
            node = self.same[node]
        return node


def written_in_loops(flow: Flow, bits: Bits) -> dict[int, int]:
    """Head of a loop → bits of the registers that the loop writes, or more."""
    place, order, pieces = flow.place, flow.order, flow.pieces
    writes = [0] * len(pieces)
    latches: dict[int, list[int]] = {}
    for number in order:
        for _, unit, part in pieces[number].code:
            writes[number] |= unit.writes if part is None else bits.of(part)[1]
        for successor in pieces[number].successors:
            if place[successor] <= place[number]:
                latches.setdefault(successor, []).append(number)
    found: dict[int, int] = {}
    budget = _LOOP_STEPS
    for head, ends in latches.items():
        # The loop is what leads to its ends without leading through its head.
        inside = {head, *ends}
        waiting = [end for end in ends if end != head]
        while waiting and budget > 0:
            budget -= 1
            for before in pieces[waiting.pop()].predecessors:
                if before not in inside:
                    inside.add(before)
                    waiting.append(before)
        mask = 0 if budget > 0 else -1
        for number in inside:
            mask |= writes[number]
        found[head] = mask
    return found


def steady_joins(
    solved: Solved, joins: Iterable[tuple[int, int, int, int]], around: Surroundings
) -> dict[tuple[int, int, int], int]:
    """Joins at heads of loops that turned out to be one address, each as what it joins.

    Args:
        solved: The function.
        joins: Node, piece, register or slot, and which of both.
        around: Its file.
    """
    numbers = _numbers(solved)
    return {
        (piece, key, kind): number
        for node, piece, key, kind in joins
        if (number := numbers[node]) is not None and is_address(around, number)
    }


def _numbers(solved: Solved) -> dict[int, int | None]:
    """Each join with the number that it always is, in loops within loops too; None where it is none."""
    values = solved.values
    joined = {
        node: [solved.real(arg) for arg in values.args[node]]
        for node, op in enumerate(values.ops)
        if op == PHI
    }
    found: dict[int, int | None] = {}
    changed = True
    while changed:
        changed = False
        for node, args in joined.items():
            # A join of which nothing is known yet may be any number, and so may what a call left.
            known = {
                found.get(arg, values.number(arg))
                for arg in args
                if values.ops[arg] != UNDEFINED and (arg not in joined or arg in found)
            }
            if not known:
                continue
            number = known.pop() if len(known) == 1 else None
            if node not in found or found[node] != number:
                found[node] = number
                changed = True
    return {node: found.get(node) for node in joined}


def vague_nodes(solved: Solved) -> set[int]:
    """What is undefined on some way."""
    ops, args = solved.values.ops, solved.values.args
    vague = {node for node, op in enumerate(ops) if op == UNDEFINED}
    joins = [node for node, op in enumerate(ops) if op == PHI]
    for _ in range(_PASSES):
        more = [
            node
            for node in joins
            if node not in vague and any(solved.real(arg) in vague for arg in args[node])
        ]
        if not more:
            break
        vague.update(more)
    return vague


def trivial_joins(values: Values) -> dict[int, int]:
    """Joins of one value with itself are that value."""
    ops, args = values.ops, values.args
    joins = [node for node, op in enumerate(ops) if op == PHI]
    same: dict[int, int] = {}

    def real(node: int) -> int:
        while node in same:
            node = same[node]
        return node

    for _ in range(_PASSES):
        changed = False
        for node in joins:
            if node in same:
                continue
            distinct = {real(arg) for arg in args[node]} - {node}
            if len(distinct) == 1:
                same[node] = distinct.pop()
                changed = True
        if not changed:
            break
    return same
