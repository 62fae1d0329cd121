"""A fact between two entities of a text."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

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
        place: Characters of the head: in one sentence with the tail where there is one, else where it stands nearest.
        tail_place: Characters of the tail there.
        span: Characters of the passage.
        head_type: What the head is, such as ``"PER"``; empty where that is not known.
        tail_type: What the tail is.
        label: Where the label of a table or form stands that states it; None where none does.
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
    label: Span | None = None

    def moved(self, by: int, confidence: float) -> EntityFact:
        """The fact of a part of a text as one of the text, so many characters further on, and how sure it is there."""
        places = ((first + by, last + by) for first, last in (self.place, self.tail_place, self.span))
        place, tail_place, span = places
        label = None if self.label is None else (self.label[0] + by, self.label[1] + by)
        return replace(
            self, confidence=confidence, place=place, tail_place=tail_place, span=span, label=label
        )

    def record(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)
