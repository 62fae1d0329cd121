"""What a place in a function knows."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class State:
    """What registers, stack slots and temporaries hold at one place."""

    registers: dict[int, int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    temporaries: dict[int, int] = field(default_factory=dict)
    memory: int = 0

    def copy(self) -> State:
        """One that can go its own way."""
        return State(dict(self.registers), dict(self.slots), dict(self.temporaries), self.memory)
