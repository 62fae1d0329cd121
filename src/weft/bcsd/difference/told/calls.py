"""Calls that both versions make of one callee, but give other arguments.

A call is told if no call of the other version may be given the same. Compilers double and reorder calls, so each set of
arguments counts once; what does not surely say which value it is fits any; what stands behind the arguments that the
callee takes is a leftover.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from weft.bcsd.difference.told.arguments import KNOWN
from weft.bcsd.difference.told.effects import ADDRESS, ANY, Call
from weft.bcsd.difference.told.spelling import Spelled, bare, without_offsets

_LOAD = re.compile(r"u\d+\[")


def calls_changed(old: Sequence[Call], new: Sequence[Call], taken: Mapping[str, int]) -> Iterator[str]:
    """Each, for a person: what the old version gives and what the new one does.

    Args:
        old: Calls of the old version.
        new: Calls of the new version.
        taken: How many arguments a callee takes, where that is known.
    """
    for callee in sorted(_shared(old, new)):
        count = taken.get(callee, KNOWN.get(callee))
        gone, come = _alone(*(_of(callee, side, count) for side in (old, new)))
        for one, other in _paired(gone, come):
            yield _both(one, other)
            gone.remove(one)
            come.remove(other)
        # Which of its arguments a call of an unknown callee is given nobody tells.
        for sign, side in (("−", gone), ("+", come)) if count is not None else ():
            for call in side:
                if call.args and all(arg.key != ANY for arg in call.args):
                    yield f"{sign} {call.shown}({', '.join(bare(arg.shown) for arg in call.args)})"


def callees_in_question(old: Sequence[Call], new: Sequence[Call]) -> set[str]:
    """Callees of which it matters how many arguments they take."""
    return {
        callee
        for callee in _shared(old, new)
        if any(_alone(*(_of(callee, side, None) for side in (old, new))))
    }


def _shared(old: Sequence[Call], new: Sequence[Call]) -> set[str]:
    return {call.callee for call in old} & {call.callee for call in new}


def _of(callee: str, calls: Sequence[Call], count: int | None) -> list[Call]:
    """The calls of a callee, with the arguments that it surely takes.

    If their count is not known these are the first one and constants.
    """
    found: list[Call] = []
    for call in calls:
        if call.callee != callee:
            continue
        if count is None:
            sure = enumerate(zip(call.args, call.numbers, strict=True))
            args = tuple(
                arg if number or place == 0 else Spelled(ANY, arg.shown) for place, (arg, number) in sure
            )
        else:
            args = call.args[:count]
        found.append(call._replace(args=args))
    return list(dict.fromkeys(found))


def _alone(old: Sequence[Call], new: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """Calls of each side that none of the other side may be."""
    return (
        [call for call in old if not any(_fit(call, other) for other in new)],
        [call for call in new if not any(_fit(call, other) for other in old)],
    )


def _fit(one: Call, other: Call) -> bool:
    return all(_may_be(a.key, b.key) for a, b in zip(one.args, other.args, strict=False))


def _may_be(one: str, other: str) -> bool:
    """Whether two arguments may be the same, but for texts, variables and fields: these have kinds of their own."""
    if one == other or ANY in (one, other):
        return True
    if one.startswith(ADDRESS) and other.startswith(ADDRESS):
        return True
    fields = _LOAD.search(one) is not None and _LOAD.search(other) is not None
    return fields and without_offsets(one) == without_offsets(other)


def _paired(gone: Sequence[Call], come: Sequence[Call]) -> list[tuple[Call, Call]]:
    """Calls of both versions, the most alike first; each has one partner at most."""
    ordered = sorted(
        (-sum(a.key == b.key for a, b in zip(one.args, other.args, strict=False)), i, j)
        for i, one in enumerate(gone)
        for j, other in enumerate(come)
    )
    found: dict[int, int] = {}
    for _, i, j in ordered:
        if i not in found and j not in found.values():
            found[i] = j
    return [(gone[i], come[j]) for i, j in sorted(found.items())]


def _both(one: Call, other: Call) -> str:
    """Two calls of one callee, with what is the same in both left out."""
    same = [_may_be(a.key, b.key) for a, b in zip(one.args, other.args, strict=False)]
    halves = [
        ", ".join(
            "…" if left_out else bare(arg.shown) for left_out, arg in zip(same, call.args, strict=False)
        )
        for call in (one, other)
    ]
    return f"{one.shown}({halves[0]}) → {other.shown}({halves[1]})"
