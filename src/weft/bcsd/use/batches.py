"""Small files together: members of one archive go to a process in batches, and one by one where a batch breaks it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from weft.bcsd.read.members import split_member
from weft.errors import LimitError
from weft.platform.processes import Limits, Outcome, run_bounded, run_here

Job = TypeVar("Job")
Value = TypeVar("Value")

#: Members of an archive that a process is given at once.
LARGEST = 32


def batches(jobs: Sequence[Job], path_of: Callable[[Job], str], workers: int) -> list[tuple[Job, ...]]:
    """Jobs in their order, consecutive members of one archive together; a file is a batch of its own.

    Args:
        jobs: What to work on.
        path_of: The file or the member of each.
        workers: An archive is divided among as many.
    """
    found: list[tuple[Job, ...]] = []
    for (_, member), group in groupby(jobs, lambda job: _owner(path_of(job))):
        together = list(group)
        size = min(LARGEST, -(-len(together) // max(1, workers))) if member else 1
        found += [tuple(together[first : first + size]) for first in range(0, len(together), size)]
    return found


def _owner(path: str) -> tuple[str, bool]:
    place, member = split_member(path)
    return place, member is not None


def each_of(work: Callable[[Job], Value], batch: Sequence[Job]) -> list[Outcome[Job, Value]]:
    """What a process does with a batch: a job that fails is its own outcome.

    Raises:
        WeftError: The batch is one job, which failed; or a job needs more than there is, which it may have by itself.
    """
    if len(batch) == 1:
        begun = time.monotonic()
        value = work(batch[0])
        return [Outcome(batch[0], value, None, time.monotonic() - begun)]
    done: list[Outcome[Job, Value]] = []
    for outcome in run_here(work, batch):
        if isinstance(outcome.error, LimitError):
            raise outcome.error
        done.append(outcome)
    return done


def run_batches(
    work: Callable[[tuple[Job, ...]], Value],
    jobs: Sequence[tuple[Job, ...]],
    *,
    workers: int,
    limits: Limits,
    preload: str | None = None,
) -> Iterator[Outcome[tuple[Job, ...], Value]]:
    """Work on batches in bounded processes; the jobs of one that fails as a whole are given out one by one.

    Args:
        work: A module-level function that makes use of :func:`each_of`.
        jobs: The batches.
        workers: Processes at a time.
        limits: Per batch, and then per job.
        preload: A module that is imported once for all processes; that of ``work`` where None.

    Yields:
        Outcomes in the order of the jobs: of a batch, or of each of its jobs by itself.
    """
    for outcome in run_bounded(work, jobs, workers=workers, limits=limits, preload=preload):
        if outcome.error is None or len(outcome.item) == 1:
            yield outcome
        else:
            singles = [(job,) for job in outcome.item]
            yield from run_bounded(work, singles, workers=workers, limits=limits, preload=preload)
