"""What became of the questions to an endpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_LISTED = 100
_LONGEST = 300


@dataclass
class Tally:
    """Outcomes, counted and in part listed.

    Args:
        counts: How often each outcome came.
        listed: Some of what was refused, and why.
        unanswered: Questions that had no reply at all.
    """

    counts: Counter[str] = field(default_factory=Counter)
    listed: list[str] = field(default_factory=list)
    unanswered: int = 0

    def refuse(self, reason: str, what: str) -> None:
        """Count a question that brought no tail, and list it."""
        self.counts[reason] += 1
        self.listed += [what[:_LONGEST]][: max(_LISTED - len(self.listed), 0)]

    def add(self, other: Tally) -> None:
        """Count what another counted."""
        self.counts += other.counts
        self.listed += other.listed[: max(_LISTED - len(self.listed), 0)]
        self.unanswered += other.unanswered
