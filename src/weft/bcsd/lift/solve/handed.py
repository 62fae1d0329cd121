"""Variables on the stack whose addresses are more than the place of one slot: what may have been written there.

Where a variable ends nobody tells. So everything from the lowest such address up may be written, what is kept there
for the function itself too.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.bcsd.lift.solve.state import State
from weft.bcsd.lift.solve.values import PHI, STACK, Values

#: Operations whose result is an address on the stack where an operand is one.
_MOVING = frozenset({"ADD", "SUB", "AND", "OR", PHI})


class Handed:
    """The addresses on the stack that one function hands out.

    Args:
        values: Its values.
    """

    def __init__(self, values: Values) -> None:
        self._values = values
        #: For each node the lowest address on the stack that it may be; 0 where it is none.
        self._lowest: list[int] = []

    def out(self, state: State, nodes: Sequence[int]) -> None:
        """Note that others know some values, and what lies where they point."""
        lowest = min((self._address(node) for node in nodes), default=0)
        while lowest < state.handed:
            state.handed = lowest
            lowest = min(self._address(node) for node in (*self._seen(state).values(), *nodes))

    def call(self, state: State, args: Sequence[int]) -> None:
        """Forget what a call may have written."""
        self.out(state, args)
        if state.handed:
            # What lies there may have been put there since the address was handed out.
            self.out(state, tuple(self._seen(state).values()))
            self._forget(state, state.handed)

    def store(self, state: State, place: int, node: int) -> None:
        """A store to anywhere but one slot: others may know what is stored, and it may be an element of an array."""
        self.out(state, (node,))
        self._forget(state, self._address(place))

    def _seen(self, state: State) -> dict[int, int]:
        return {offset: node for offset, node in state.slots.items() if state.handed <= offset < 0}

    @staticmethod
    def _forget(state: State, lowest: int) -> None:
        for offset in [offset for offset in state.slots if lowest <= offset < 0]:
            del state.slots[offset]

    def _address(self, node: int) -> int:
        values, lowest = self._values, self._lowest
        for other in range(len(lowest), len(values)):
            if values.ops[other] == STACK:
                lowest.append(min(values.data[other], 0))
            elif values.ops[other] in _MOVING:
                lowest.append(min((lowest[arg] for arg in values.args[other]), default=0))
            else:
                lowest.append(0)
        return lowest[node]
