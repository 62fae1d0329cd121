"""A function's pieces of straight code as few as they can be: how blocks were cut and laid out leaves no trace."""

from __future__ import annotations

from dataclasses import dataclass

from weft.bcsd.lift.solve.computation import Computation
from weft.bcsd.lift.solve.values import PHI


@dataclass(frozen=True)
class Chains:
    """Pieces joined where control goes from one to the other alone; those without effects are passed over.

    Args:
        effects: Of each chain.
        home: Chain of each piece.
        before: Chains that each is entered from.
        true: Where each goes if the condition at its end holds; None where it has none.
        others: Where else it goes.
        entries: Where each entry of the jump table at its end leads, -1 for out of the function; empty if unknown.
    """

    effects: list[list[int]]
    home: list[int]
    before: list[list[int]]
    true: list[int | None]
    others: list[list[int]]
    entries: list[list[int]]


def chains_of(found: Computation) -> Chains:
    """Join the pieces of a function."""
    count = len(found.effects)
    forward = [_forward(found, piece) for piece in range(count)]
    live = sorted({forward[piece] for piece in range(count)})
    successors = {piece: sorted({forward[s] for s in found.successors[piece]}) for piece in live}
    entered: dict[int, list[int]] = {piece: [] for piece in live}
    for piece in live:
        for successor in successors[piece]:
            entered[successor].append(piece)
    entry = forward[0] if count else -1
    into = {
        piece: successors[piece][0]
        for piece in live
        if len(successors[piece]) == 1
        and successors[piece][0] not in (piece, entry)
        and len(entered[successors[piece][0]]) == 1
    }
    heads = [piece for piece in live if piece not in set(into.values())]
    # A ring that is joined all round has no head: its first piece is one.
    members = {head: _follow(head, into) for head in heads}
    covered = {piece for pieces in members.values() for piece in pieces}
    for piece in live:
        if piece not in covered:
            members[piece] = _follow(piece, into)
            covered.update(members[piece])
    number = {piece: place for place, pieces in enumerate(members.values()) for piece in pieces}
    effects, true, others, entries = [], [], [], []
    for pieces in members.values():
        effects.append([node for piece in pieces for node in found.effects[piece]])
        goal, rest = _whither(found, pieces[-1], forward)
        true.append(None if goal is None else number[goal])
        others.append([number[other] for other in rest])
        entries.append([number[forward[e]] if e >= 0 else -1 for e in found.entries[pieces[-1]]])
    before: list[list[int]] = [[] for _ in effects]
    for place, goal in enumerate(true):
        for successor in (*others[place], *([] if goal is None else [goal])):
            before[successor].append(place)
    return Chains(effects, [number[forward[piece]] for piece in range(count)], before, true, others, entries)


def _forward(found: Computation, piece: int) -> int:
    """The first piece from here on that does something."""
    seen = {piece}
    while not found.effects[piece] and len(set(found.successors[piece])) == 1:
        following = found.successors[piece][0]
        if following in seen:
            break
        seen.add(following)
        piece = following
    return piece


def _follow(head: int, into: dict[int, int]) -> list[int]:
    pieces = [head]
    while pieces[-1] in into and into[pieces[-1]] != head:
        pieces.append(into[pieces[-1]])
    return pieces


def _whither(found: Computation, piece: int, forward: list[int]) -> tuple[int | None, list[int]]:
    effects, taken = found.effects[piece], found.taken[piece]
    successors = found.successors[piece]
    if taken < 0 or not effects or found.ops[effects[-1]] != "BRANCH":
        return None, sorted({forward[successor] for successor in successors})
    goal = forward[taken]
    others = sorted({forward[successor] for successor in successors if successor != taken})
    if found.data[effects[-1]] and len(others) == 1:
        # The condition was written the other way round.
        return others[0], [goal]
    return goal, others


def operands_first(found: Computation) -> list[int]:
    """All nodes, each behind its operands; joins, which may come round a loop, are behind some of theirs."""
    done = [False] * len(found.ops)
    order: list[int] = []
    for root in range(len(found.ops)):
        waiting = [(root, False)]
        while waiting:
            node, ready = waiting.pop()
            if done[node]:
                continue
            if ready or found.ops[node] == PHI:
                done[node] = True
                order.append(node)
                continue
            waiting.append((node, True))
            waiting += [(arg, False) for arg in found.args[node] if not done[arg]]
    return order
