"""A solved function as a graph of operations with typed edges, for models that read it."""

from __future__ import annotations

import itertools

from weft.bcsd.lift.decode.flow import Flow
from weft.bcsd.lift.interface import OperationEdge
from weft.bcsd.lift.solve.joins import Solved

_SIZED = frozenset({"LOAD", "STORE"})
_ORDERED = frozenset({"STORE", "CALL", "CALLIND", "RETURN"})
_BRANCHES = frozenset({"BRANCH", "SWITCH"})

Edges = tuple[tuple[int, int, OperationEdge], ...]


def operation_graph(solved: Solved, flow: Flow) -> tuple[tuple[str, ...], Edges]:
    """Every operation that an effect depends on, and how they depend on each other.

    Args:
        solved: The function.
        flow: Its pieces.

    Returns:
        The operations, effects first, and the edges, sorted and distinct.
    """
    values = solved.values
    place: dict[int, int] = {}
    order: list[int] = []

    def number(node: int) -> int:
        node = solved.real(node)
        if node not in place:
            place[node] = len(order)
            order.append(node)
        return place[node]

    edges: set[tuple[int, int, OperationEdge]] = set()
    for effects in solved.effects:
        for node in effects:
            number(node)
    _control(solved, flow, place, edges)
    done = 0
    while done < len(order):
        node = order[done]
        for arg in values.args[node]:
            edges.add((done, number(arg), OperationEdge.DATA))
        if values.ops[node] == "LOAD" and values.data[node] > 0:
            edges.add((done, number(values.data[node]), OperationEdge.MEMORY))
        done += 1
    names = [
        f"{values.ops[node]}{values.sizes[node]}" if values.ops[node] in _SIZED else values.ops[node]
        for node in order
    ]
    return tuple(names), tuple(sorted(edges))


def _control(
    solved: Solved, flow: Flow, place: dict[int, int], edges: set[tuple[int, int, OperationEdge]]
) -> None:
    """Effects after effects, and under the branches that lead to their piece."""
    ops = solved.values.ops
    last: dict[int, int] = {}
    branch: dict[int, int] = {}
    for number, effects in enumerate(solved.effects):
        ordered = [node for node in effects if ops[node] in _ORDERED]
        for before, after in itertools.pairwise(ordered):
            edges.add((place[after], place[before], OperationEdge.EFFECT))
        if ordered:
            last[number] = ordered[-1]
        if effects and ops[effects[-1]] in _BRANCHES:
            branch[number] = effects[-1]
    for number, effects in enumerate(solved.effects):
        first = next((node for node in effects if ops[node] in _ORDERED), None)
        for before in flow.pieces[number].predecessors:
            if before in branch:
                for node in effects:
                    edges.add((place[node], place[branch[before]], OperationEdge.CONTROL))
            if first is not None and before in last:
                edges.add((place[first], place[last[before]], OperationEdge.EFFECT))
