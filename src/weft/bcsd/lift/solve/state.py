"""What a place in a function knows."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field


@dataclass
class State:
    """What registers, stack slots and temporaries hold at one place.

    Attributes:
        registers: By family.
        slots: By offset.
        temporaries: By place.
        memory: What was stored or called last.
        unread: Families of the second halves of results that nothing has read since they were written.
    """

    registers: dict[int, int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    temporaries: dict[int, int] = field(default_factory=dict)
    memory: int = 0
    unread: frozenset[int] = frozenset()

    def copy(self) -> State:
        """One that can go its own way."""
        return State(dict(self.registers), dict(self.slots), dict(self.temporaries), self.memory, self.unread)

    def alone(self, nodes: Container[int]) -> State:
        """What code that nothing seems to reach may rely on: the registers that hold one of these."""
        return State({family: node for family, node in self.registers.items() if node in nodes})
