"""Which of a file's facts are shown."""

from __future__ import annotations

from collections.abc import Sequence

from weft.kg.extraction.facts import ModelFact
from weft.platform.confidence import threshold_at


def chosen_facts(
    found: Sequence[ModelFact],
    relations: Sequence[str] = (),
    at_least: float = 0.0,
    precision: float | None = None,
    limit: int | None = None,
) -> list[ModelFact]:
    """The facts that are sure enough, by line.

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
        surest = sorted(shown, key=lambda fact: -fact.confidence)[:limit]
        shown = [fact for fact in shown if fact in surest]
    return shown
