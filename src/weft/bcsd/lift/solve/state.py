"""What a place in a function knows."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace


@dataclass
class State:
    """What registers, stack slots and temporaries hold at one place.

    Attributes:
        registers: By family.
        slots: By offset.
        temporaries: By place.
        memory: What was stored or called last.
        unread: Families of the second halves of results that nothing has read since they were written.
        handed: The lowest address on the stack that others know; 0 where there is none.
    """

    registers: dict[int, int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    temporaries: dict[int, int] = field(default_factory=dict)
    memory: int = 0
    unread: frozenset[int] = frozenset()
    handed: int = 0

    def copy(self) -> State:
        """One that can go its own way."""
        return replace(
            self, registers=dict(self.registers), slots=dict(self.slots), temporaries=dict(self.temporaries)
        )

    def alone(self, nodes: Container[int]) -> State:
        """What code that nothing seems to reach may rely on: the registers that hold one of these."""
        return State({family: node for family, node in self.registers.items() if node in nodes})
