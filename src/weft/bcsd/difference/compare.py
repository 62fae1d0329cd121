"""Two versions compared: each function is unchanged, changed, renamed, added or removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
import pyarrow as pa

from weft.bcsd.architectures import architecture_named
from weft.bcsd.difference.globals import References, references
from weft.bcsd.difference.kinds import Change, Comparison
from weft.bcsd.difference.outline import Outline
from weft.bcsd.difference.pairing import Pairing
from weft.bcsd.difference.sources import one_sided_names, otherwise_made
from weft.bcsd.difference.told.taken import taken_by_callees
from weft.bcsd.difference.version import Version
from weft.bcsd.lift.apart.bounded import BoundedLifter
from weft.bcsd.lift.apart.wire import unpack_code
from weft.bcsd.lift.decode.processors import PROCESSORS
from weft.bcsd.lift.version import available_lifter
from weft.bcsd.matching.in_common import InCommon, shared
from weft.bcsd.read.runtime import is_start_up
from weft.errors import LimitError
from weft.platform.processes import Limits, run_bounded


class Status(StrEnum):
    """What became of a function, in the order in which they are shown."""

    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"
    UNCHANGED = "unchanged"


class Sameness(StrEnum):
    """By what two versions of an unchanged function differ at most."""

    BYTES = "nothing"
    LINKING = "relocation"
    ORDER = "registers or order"
    LINES = "line numbers"


@dataclass(frozen=True)
class Entry:
    """A function of either version, or of both.

    Args:
        status: What became of it.
        old: Its row in the old version; -1 where it is new.
        new: Its row in the new version; -1 where it is gone.
        sameness: Of an unchanged or renamed one.
        change: Of a changed one.
    """

    status: Status
    old: int
    new: int
    sameness: Sameness | None = None
    change: Change | None = None


@dataclass(frozen=True)
class Difference:
    """Two versions of a program.

    Args:
        old: The old version.
        new: The new version.
        entries: All functions, as they are shown: changed first, the most telling and largest changes on top.
        references: What became of what.
        comparison: What told changes from what is none.
        remarks: What a reader should know beside the remarks on each file.
    """

    old: Version
    new: Version
    entries: Sequence[Entry]
    references: References
    comparison: Comparison
    remarks: Sequence[str] = field(default=())

    @cached_property
    def in_common(self) -> InCommon:
        """How much of the smaller version's code is in functions that have a partner, changed or not."""
        paired = [(entry.old, entry.new) for entry in self.entries if entry.old >= 0 and entry.new >= 0]
        rows, columns = np.array(paired, dtype=np.int64).reshape(-1, 2).T
        return shared(self.old.side, self.new.side, rows, columns, np.ones(len(paired)))

    def count(self, status: Status) -> int:
        """Functions of a status."""
        return sum(entry.status == status for entry in self.entries)


def compare(
    old: Version, new: Version, by_model: Callable[[Pairing], object], limits: Limits, lifter: str = "auto"
) -> Difference:
    """Compare two versions.

    Args:
        old: The old version.
        new: The new version.
        by_model: Pairs what is left by the model; only asked where functions are left on both sides.
        limits: On time and memory of working out what the functions in question compute.
        lifter: ``none``: what is written in another order or with other registers counts as changed.

    Raises:
        LimitError: Too many functions to compare each with each.
    """
    pairing = Pairing(old, new)
    pairing.settle()
    if all(pairing.left()):
        by_model(pairing)
    partner = pairing.partner
    met = references(old, new, partner)
    around = old.around
    processor = PROCESSORS.get((around.architecture, around.big_endian, around.word))
    stack = processor.stack.lower() if processor is not None else ""
    architecture = architecture_named(old.architecture)
    comparison = Comparison(architecture, met, stack)
    entries: list[Entry] = []
    doubtful: list[tuple[int, int]] = []
    for a, b in sorted(partner.items()):
        # Where instructions do not tell what they refer to, only the lifter does; in start-up code it is no matter.
        told = architecture.tells_addresses or is_start_up(old.codes[a].name)
        if told and met.same_function(old.codes[a], new.codes[b]):
            entries.append(_unchanged(old, new, a, b, _bytewise(old, new, a, b)))
        else:
            doubtful.append((a, b))
    worked_out, said = _outlines(met, doubtful, limits, lifter)
    remarks = [*one_sided_names(old, new), *said]
    changed: list[tuple[int, int, tuple[Outline | None, Outline | None]]] = []
    for (a, b), outlines in zip(doubtful, worked_out, strict=True):
        sameness = _sameness(outlines)
        plain = sameness == Sameness.ORDER and met.same_function(old.codes[a], new.codes[b])
        if plain:
            sameness = _bytewise(old, new, a, b)
        if None in outlines and _bytewise(old, new, a, b) == Sameness.BYTES:
            sameness = Sameness.BYTES if met.same_function(old.codes[a], new.codes[b]) else None
        if sameness is not None:
            entries.append(_unchanged(old, new, a, b, sameness))
        else:
            changed.append((a, b, outlines))
    known = {
        a: one.effects.read for (a, _), (one, _) in zip(doubtful, worked_out, strict=True) if one is not None
    }
    both = [
        (one.effects, other.effects) for *_, (one, other) in changed if one is not None and other is not None
    ]
    taken = taken_by_callees(old, met.names()[0], both, known, limits)
    for a, b, outlines in changed:
        change = comparison.change(old.codes[a], new.codes[b], outlines, taken)
        entries.append(Entry(Status.CHANGED, a, b, change=change))
    amounts = {(e.old, e.new): e.change.amount if e.change is not None else 0.0 for e in entries}
    remarks += otherwise_made(old, new, amounts)
    gone, come = pairing.left()
    entries += [Entry(Status.REMOVED, row, -1) for row in gone]
    entries += [Entry(Status.ADDED, -1, row) for row in come]
    return Difference(old, new, sorted(entries, key=_place), met, comparison, remarks)


def lifted(version: Version, rows: list[int]) -> pa.Array:
    """The operations of some functions, null where there is no lifter or a function cannot be lifted."""
    kind = pa.list_(pa.uint16())
    if not available_lifter():
        return pa.nulls(len(rows), kind)
    bounded = BoundedLifter(version.around)
    return pa.array([bounded.features(unpack_code(version.codes[row].packed)) for row in rows], type=kind)


def _unchanged(old: Version, new: Version, a: int, b: int, sameness: Sameness) -> Entry:
    one, other = old.codes[a], new.codes[b]
    names = {one.name, *one.aliases} & {other.name, *other.aliases}
    renamed = one.named and other.named and not names
    return Entry(Status.RENAMED if renamed else Status.UNCHANGED, a, b, sameness)


def _bytewise(old: Version, new: Version, a: int, b: int) -> Sameness:
    return Sameness.BYTES if old.codes[a].digest == new.codes[b].digest else Sameness.LINKING


def _sameness(outlines: tuple[Outline | None, Outline | None]) -> Sameness | None:
    first, second = outlines
    if first is None or second is None:
        return None
    if first.digest == second.digest:
        return Sameness.ORDER
    return Sameness.LINES if first.lineless == second.lineless else None


def _outlines(
    met: References, doubtful: list[tuple[int, int]], limits: Limits, lifter: str
) -> tuple[list[tuple[Outline | None, Outline | None]], list[str]]:
    """What the functions in question compute, in both versions."""
    nothing: list[tuple[Outline | None, Outline | None]] = [(None, None)] * len(doubtful)
    if not doubtful:
        return nothing, []
    around = met.old.around
    known = (around.architecture, around.big_endian, around.word) in PROCESSORS
    if lifter == "none" or not available_lifter() or not known:
        return nothing, ["nothing is lifted: other registers or another order count as a change"]
    from weft.bcsd.difference.compute import OutlineRequest, outlines

    requests = [
        OutlineRequest(
            version.side.path,
            tuple(version.codes[pair[side]].packed for pair in doubtful),
            names,
            {code.address: version.shown(row) for row, code in enumerate(version.codes)},
        )
        for side, (version, names) in enumerate(zip((met.old, met.new), met.names(), strict=True))
    ]
    found: list[list[Outline | None]] = []
    for outcome in run_bounded(outlines, requests, workers=2, limits=limits):
        if isinstance(outcome.error, LimitError):
            said = f"{outcome.item}: lifting was given up ({outcome.error.what}): other registers count as a change"
            return nothing, [said]
        if outcome.error is not None:
            raise outcome.error
        found.append(outcome.value or [])
    pairs = list(zip(*found, strict=True))
    failed = sum(None in pair for pair in pairs)
    if not failed:
        return pairs, []
    return pairs, [
        f"{failed} functions could not be lifted: other registers or another order count as a change"
    ]


def _place(entry: Entry) -> tuple[object, ...]:
    order = list(Status).index(entry.status)
    rank = entry.change.rank if entry.change is not None else (0, 0.0)
    return order, *rank, entry.old if entry.old >= 0 else entry.new
