"""Which branch decides that control comes to a piece from another one: the last one before, whatever lies between."""

from __future__ import annotations

from typing import NamedTuple

from weft.bcsd.lift.solve.computation import Computation


class Decision(NamedTuple):
    """A branch and the way that it goes.

    Args:
        node: The branch; -1 for the entry of the function.
        side: Whether its condition holds; for a jump table the number of the entry, from 1 on, if that is known.
    """

    node: int
    side: int


class Decisions:
    """The decisions of one function.

    Args:
        found: What it computes.
    """

    def __init__(self, found: Computation) -> None:
        self._found = found
        self._before: list[list[int]] = [[] for _ in found.successors]
        for piece, successors in enumerate(found.successors):
            for successor in successors:
                self._before[successor].append(piece)
        self._known: dict[tuple[int, int], frozenset[Decision]] = {}

    def of(self, source: int, target: int) -> frozenset[Decision]:
        """What decides that control goes from one piece to another: several where ways met before, without a choice."""
        known = self._known.get((source, target))
        if known is None:
            known = self._known[source, target] = frozenset(self._gathered(source, target))
        return known

    def _gathered(self, source: int, target: int) -> set[Decision]:
        found: set[Decision] = set()
        seen = {(source, target)}
        waiting = [(source, target)]
        while waiting:
            piece, goal = waiting.pop()
            own = self._own(piece, goal)
            found.update(own)
            if own:
                continue
            if piece == 0:
                found.add(Decision(-1, 0))
            more = [(before, piece) for before in self._before[piece] if (before, piece) not in seen]
            seen.update(more)
            waiting += more
        return found

    def _own(self, piece: int, goal: int) -> list[Decision]:
        """What a piece itself decides; nothing where it goes to one other alone."""
        if piece < 0:
            return [Decision(-1, 0)]
        found = self._found
        effects, taken, successors = found.effects[piece], found.taken[piece], found.successors[piece]
        if len(successors) < 2 or not effects:
            return []
        last = effects[-1]
        if taken < 0 or found.ops[last] != "BRANCH":
            leading = [place for place, other in enumerate(found.entries[piece], 1) if other == goal]
            return [Decision(last, place) for place in leading or (0,)]
        # The condition may be written the other way round.
        return [Decision(last, int(goal == taken) ^ found.data[last])]
