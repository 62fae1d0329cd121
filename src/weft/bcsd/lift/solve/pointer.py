"""The register that position-independent code reaches its data by, on MIPS.

A function makes it from its own address. Calls do not keep it, so the function brings it back from the stack behind
them: in a loop that would be any value. It is one address wherever the function reads it.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.bcsd.lift.code import Surroundings
from weft.bcsd.lift.solve.fixed import is_address
from weft.bcsd.lift.solve.values import UNDEFINED, Values


class GlobalPointer:
    """What one function makes of the register.

    Args:
        values: The function's values.
        around: Its file.
        family: The register; None where there is none, or where nobody asks.
    """

    def __init__(self, values: Values, around: Surroundings, family: int | None) -> None:
        self._values, self._around, self._family = values, around, family
        self._made: int | None = None

    def written(self, family: int, node: int) -> int:
        """What a register holds that a value is written to."""
        if family != self._family:
            return node
        number = self._values.number(node)
        if number is None:
            return node if self._made is None else self._made
        if is_address(self._around, number):
            self._made = node
        return node

    def met(self, family: int, nodes: Sequence[int]) -> int | None:
        """What a register holds where paths meet, if it is one address; what a call left may be any.

        Args:
            family: The register.
            nodes: What it holds by each way; none where a way is not known yet.
        """
        if self._family is None or family == self._family:
            return self._made
        told = {node for node in nodes if self._values.ops[node] != UNDEFINED}
        node = told.pop() if len(told) == 1 else None
        number = None if node is None else self._values.number(node)
        return node if number is not None and is_address(self._around, number) else None

    def kept(self, node: int) -> bool:
        """Whether a value is the register's own, which the function lays down for itself alone."""
        return node == self._made
