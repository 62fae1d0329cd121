"""How many entries a jump table has: the comparison that keeps its index in range.

Compilers write ``cmp index, 9; ja default`` in front of the table, on the index itself, on a copy of it, or on
the memory that it is loaded from. Walking backwards from the table's load, the names that hold the index are
followed until the comparison or a mask is met.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

#: A larger bound belongs to some other comparison.
BOUNDED_ENTRIES = 1 << 14
_MASKED_ENTRIES = 256


class StepKind(Enum):
    """What an instruction says about the index."""

    ABOVE = "a jump that leaves when the comparison says out of range; value 1 if equality stays inside"
    COMPARE = "compares target with value"
    COPY = "target becomes source"
    MASK = "target is cut to value"
    OTHER = "target becomes something else"


class Step(NamedTuple):
    """One instruction; names are registers in their widest form, or memory operands as text."""

    kind: StepKind
    target: str = ""
    source: str = ""
    value: int = 0


def index_bound(steps: Iterable[Step], index: set[str]) -> int | None:
    """The number of values that the index can take, None where nothing bounds it.

    Args:
        steps: Instructions before the table's load, nearest first.
        index: Names that hold the index at the load.
    """
    tracked = set(index)
    above: int | None = None
    compared: tuple[str, int] | None = None
    for kind, target, source, value in steps:
        if kind is StepKind.ABOVE:
            above = value
        elif kind is StepKind.COMPARE:
            if above is not None and 0 <= value < BOUNDED_ENTRIES:
                if target in tracked:
                    return value + above
                # Perhaps of a copy: the instructions before will tell.
                compared = (target, value + above)
            above = None
        elif kind is StepKind.COPY:
            if compared is not None and (
                (target in tracked and source == compared[0]) or (target == compared[0] and source in tracked)
            ):
                return compared[1]
            if target in tracked:
                tracked.add(source)
                if target != source:
                    tracked.discard(target)
        elif kind is StepKind.MASK and target in tracked and 0 <= value < _MASKED_ENTRIES:
            return value + 1
        if (
            compared is not None
            and kind in (StepKind.COPY, StepKind.OTHER)
            and target == compared[0] != source
        ):
            compared = None
    return None
