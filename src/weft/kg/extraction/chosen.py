"""Which of a file's facts are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from weft.platform.confidence import threshold_at


class Sure(Protocol):
    """A fact of a relation, with its confidence."""

    @property
    def relation(self) -> str:
        """Name of the relation."""
        ...

    @property
    def confidence(self) -> float:
        """How sure."""
        ...


Fact = TypeVar("Fact", bound=Sure)


def chosen_facts(
    found: Sequence[Fact],
    relations: Sequence[str] = (),
    at_least: float = 0.0,
    precision: float | None = None,
    limit: int | None = None,
) -> list[Fact]:
    """The facts that are sure enough, in the order given.

    Args:
        found: All facts.
        relations: Only these; all where there is none.
        at_least: Least confidence.
        precision: As many as together are right this often.
        limit: The surest so many.
    """
    if relations:
        found = [fact for fact in found if fact.relation in relations]
    if precision is not None:
        at_least = max(at_least, threshold_at([fact.confidence for fact in found], precision))
    shown = [fact for fact in found if fact.confidence >= at_least]
    if limit is not None:
        # By place: facts of two documents may be equal.
        surest = sorted(range(len(shown)), key=lambda number: -shown[number].confidence)[:limit]
        shown = [shown[number] for number in sorted(surest)]
    return shown
