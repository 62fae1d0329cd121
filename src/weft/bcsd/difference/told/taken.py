"""How many arguments the functions take that both versions call with other ones: those are lifted for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from weft.bcsd.difference.told.arguments import arguments_read
from weft.bcsd.difference.told.calls import callees_in_question
from weft.bcsd.difference.told.effects import Effects
from weft.bcsd.difference.version import Version
from weft.bcsd.lift.apart.bounded import BoundedLifter
from weft.bcsd.lift.apart.wire import unpack_code
from weft.bcsd.lift.code import Surroundings
from weft.platform.processes import Limits, run_bounded


class TakenRequest(NamedTuple):
    """Functions of a file, as they were packed."""

    path: str
    around: Surroundings
    codes: tuple[bytes, ...]

    def __str__(self) -> str:
        return self.path


def taken_by_callees(
    old: Version,
    names: Mapping[int, str],
    changed: Sequence[tuple[Effects, Effects]],
    known: Mapping[int, int | None],
    limits: Limits,
) -> dict[str, int]:
    """What a callee is compared by → how many arguments it takes, where that can be worked out.

    Args:
        old: The old version.
        names: Address there → what it is compared by.
        changed: What functions do in both versions.
        known: Row there → how many arguments it reads, of functions that were lifted already.
        limits: On time and memory.
    """
    asked = {callee for effects in changed for callee in callees_in_question(*(one.calls for one in effects))}
    rows = {
        name: row
        for address, name in names.items()
        if name in asked and (row := old.rows.get(address)) is not None
    }
    missing = sorted({row for row in rows.values() if row not in known})
    read = dict(known)
    if missing:
        request = TakenRequest(old.side.path, old.around, tuple(old.codes[row].packed for row in missing))
        for outcome in run_bounded(taken, [request], workers=1, limits=limits):
            # Without it no more is told than constants, so that time or memory may end here.
            if outcome.value is not None:
                read.update(zip(missing, outcome.value, strict=True))
    return {name: count for name, row in rows.items() if (count := read.get(row)) is not None}


def taken(request: TakenRequest) -> list[int | None]:
    """How many arguments each function reads; None where that cannot be worked out."""
    bounded = BoundedLifter(request.around)
    computed = (bounded.compute(unpack_code(packed)) for packed in request.codes)
    return [None if found is None else arguments_read(found) for found in computed]
