"""A solved function as a graph of operations with typed edges, for models that read it."""

from __future__ import annotations

import itertools

from weft.bcsd.lift.decode.flow import Flow
from weft.bcsd.lift.features.bag import COMMUTATIVE, Bagger, number_of
from weft.bcsd.lift.interface import OperationEdge
from weft.bcsd.lift.solve.joins import Solved

_ORDERED = frozenset({"STORE", "CALL", "CALLIND", "RETURN"})
_BRANCHES = frozenset({"BRANCH", "SWITCH"})
#: Operands of a join are in no order either.
_UNORDERED = COMMUTATIVE | {"PHI"}

Codes = tuple[tuple[int, int, int], ...]
Edges = tuple[tuple[int, int, OperationEdge], ...]


def operation_graph(solved: Solved, flow: Flow, bagger: Bagger) -> tuple[tuple[str, ...], Codes, Edges]:
    """Every operation that an effect depends on, and how they depend on each other.

    What the bag of features passes over (extensions, truncations, sums within sums) is passed over here.

    Args:
        solved: The function.
        flow: Its pieces.
        bagger: Of the function.

    Returns:
        The operations, effects first, their codes, and the edges, sorted and distinct.
    """
    values = solved.values
    place: dict[int, int] = {}
    order: list[int] = []

    def number(node: int) -> int:
        node = bagger.real(node)
        if node not in place:
            place[node] = len(order)
            order.append(node)
        return place[node]

    effects = [[bagger.real(node) for node in own] for own in solved.effects]
    edges: set[tuple[int, int, OperationEdge]] = set()
    for own in effects:
        for node in own:
            number(node)
    _control(values.ops, effects, flow, place, edges)
    done = 0
    while done < len(order):
        node = order[done]
        ordered = values.ops[node] not in _UNORDERED
        for position, operand in enumerate(bagger.operands(node)):
            kind = OperationEdge.LATER if ordered and position else OperationEdge.DATA
            edges.add((done, number(operand), kind))
        if values.ops[node] == "LOAD" and values.data[node] > 0:
            edges.add((done, number(values.data[node]), OperationEdge.MEMORY))
        done += 1
    names = tuple(bagger.name(node) for node in order)
    codes = tuple(
        (number_of(name), number_of(bagger.with_operands(node)), number_of(bagger.with_theirs(node)))
        for name, node in zip(names, order, strict=True)
    )
    return names, codes, tuple(sorted(edges))


def _control(
    ops: list[str],
    effects: list[list[int]],
    flow: Flow,
    place: dict[int, int],
    edges: set[tuple[int, int, OperationEdge]],
) -> None:
    """Effects after effects, and under the branches that lead to their piece."""
    last: dict[int, int] = {}
    branch: dict[int, int] = {}
    for number, own in enumerate(effects):
        ordered = [node for node in own if ops[node] in _ORDERED]
        for before, after in itertools.pairwise(ordered):
            edges.add((place[after], place[before], OperationEdge.EFFECT))
        if ordered:
            last[number] = ordered[-1]
        if own and ops[own[-1]] in _BRANCHES:
            branch[number] = own[-1]
    for number, own in enumerate(effects):
        first = next((node for node in own if ops[node] in _ORDERED), None)
        for before in flow.pieces[number].predecessors:
            if before in branch:
                for node in own:
                    edges.add((place[node], place[branch[before]], OperationEdge.CONTROL))
            if first is not None and before in last:
                edges.add((place[first], place[last[before]], OperationEdge.EFFECT))
