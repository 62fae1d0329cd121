"""A fact between two entities of a text."""

from __future__ import annotations

from dataclasses import asdict, dataclass

Span = tuple[int, int]


@dataclass(frozen=True)
class EntityFact:
    """One fact that a model read out of a text.

    Args:
        head: Name of an entity of the text.
        relation: Name of the relation.
        tail: Name of an entity of the text.
        confidence: How often such an answer is right; for an uncalibrated model the raw probability of the fact times
            those of both its names.
        place: Characters of the head, where it stands nearest to the tail.
        tail_place: Characters of the tail there.
        span: Characters of the passage.
        head_type: What the head is, such as ``"PER"``; empty where that is not known.
        tail_type: What the tail is.
    """

    head: str
    relation: str
    tail: str
    confidence: float
    place: Span
    tail_place: Span
    span: Span
    head_type: str = ""
    tail_type: str = ""

    def record(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)
