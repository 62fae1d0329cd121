"""The sources of a tree with their annotations, in several processes; what cannot be written is listed and left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from weft.kg.annotate.oldest import Version
from weft.kg.annotate.plan import Candidate, Missing
from weft.kg.annotate.tree import Annotated, Findings
from weft.kg.annotate.write import annotated
from weft.platform.processes import Limits, run_here, run_loaded


class _Job(NamedTuple):
    text: str
    where: str
    chosen: list[tuple[Missing, Candidate]]
    oldest: Version | None

    def __str__(self) -> str:
        return self.where


def annotated_texts(
    found: Findings, least: float, failed: list[tuple[str, str]], workers: int = 1
) -> list[tuple[Annotated, str]]:
    """The files of a tree with what is sure enough written into them, in their order.

    Args:
        found: The missing annotations.
        least: Least confidence of what is written.
        failed: Takes the files that cannot be written, and why.
        workers: Processes.
    """
    result: list[tuple[Annotated, str]] = []
    workers = min(workers, len(found.files))
    jobs = _jobs(found, least)
    outcomes = (
        run_here(_write, jobs)
        if workers < 2
        else run_loaded(_loaded, jobs, workers=workers, limits=Limits(), preload=__name__)
    )
    for file, outcome in zip(found.files, outcomes, strict=True):
        if outcome.value is None:
            failed.append((str(file.path), outcome.error.what if outcome.error else ""))
            continue
        try:
            outcome.value.encode(file.encoding)
        except UnicodeEncodeError as error:
            reason = f"an annotation cannot be written in {file.encoding}: {error.reason}"
            failed.append((str(file.path), reason))
            continue
        result.append((file, outcome.value))
    return result


def _jobs(found: Findings, least: float) -> Iterator[_Job]:
    for file in found.files:
        # Where and what is enough: other candidates need not go to another process.
        chosen = [(replace(item, candidates=()), best) for item, best in file.chosen(least)]
        yield _Job(file.text, str(file.path), chosen, found.oldest)


def _loaded() -> Callable[[_Job], str]:
    return _write


def _write(job: _Job) -> str:
    return annotated(job.text, job.chosen, job.where, job.oldest)
