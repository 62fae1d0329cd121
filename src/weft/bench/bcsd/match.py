"""`weft bench bcsd-match`: what one-to-one matching finds on the test packages, how sure it may be, how long it takes.

Reads the builds in the folder that ``WEFT_BCSD_WORK`` names (`weft bcsd dataset build … --work`); without it there
are no rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from weft.bcsd.matching.match import TINY_BLOCKS, match
from weft.bcsd.matching.rule import Rule, rule_of
from weft.bcsd.matching.side import SideRequest, read_side
from weft.bcsd.matching.trial import SETTINGS, Trial, packages_of, strangers, trials, with_fewer
from weft.bcsd.report.page import report_page
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.store import find
from weft.bench.spent import busy_seconds
from weft.bench.table import Row
from weft.objective.metrics import expected_calibration_error

if TYPE_CHECKING:
    from numpy.typing import NDArray

MODEL = "bcsd-small"
SURE = 0.8
CALIBRATION = 0.03
#: A training package of over a thousand functions: only the time is taken.
LARGE = "mbedtls"


@dataclass(frozen=True)
class Found:
    """What matching made of one trial.

    Args:
        nearest: Of each function with a partner: whether its best score is that of the partner.
        matched: Whether it was paired with its partner.
        confidence: Of each pair that can be judged.
        right: Whether it is right.
    """

    nearest: NDArray[np.bool_]
    matched: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    right: NDArray[np.bool_]


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` leaves the large file out."""
    named = os.environ.get("WEFT_BCSD_WORK")
    if not named:
        return
    work = Path(named)
    folder = find(MODEL)
    embedder = Embedder.load(folder, precision="auto")
    rule, _ = rule_of(folder, embedder.version)
    everything: list[Found] = []
    known = list(trials(packages_of(work, "test"), SETTINGS, embedder, "test"))
    for setting in SETTINGS:
        found = [judge(trial, rule) for trial in known if trial.setting == setting]
        everything += found
        nearest, matched = (_joined(found, name) for name in ("nearest", "matched"))
        variant = f"{setting}, {len(matched)} functions ≥ {TINY_BLOCKS} blocks"
        yield Row(
            "bcsd match: found / nearest by score",
            variant,
            "–",
            "share",
            matched.mean(),
            nearest.mean(),
            "higher",
        )
    confidence, right = (_joined(everything, name) for name in ("confidence", "right"))
    sure = confidence >= SURE
    variant = f"{int(sure.sum())} of {len(sure)} pairs, all sizes"
    yield Row(
        f"bcsd match: right, {SURE:.0%} sure or more",
        variant,
        "–",
        "share",
        right[sure].mean(),
        1.0,
        "higher",
    )
    yield _error("two builds of one package", confidence, right, CALIBRATION)
    halves = [judge(with_fewer(trial, embedder.weights), rule) for trial in known]
    confidence, right = (_joined(halves, name) for name in ("confidence", "right"))
    yield _error("two builds that lack a third of each other's functions", confidence, right)
    apart = [(trial, trial.pair(rule)) for trial in strangers(known, embedder.weights)]
    matched = np.mean([(pairs.confidence >= rule.floor).mean() for _, pairs in apart])
    yield Row(
        "bcsd match: matched, though nothing is there",
        f"{len(apart)} pairs of files of different packages",
        "–",
        "share of pairs",
        float(matched),
        1.0,
        "lower",
    )
    if not quick:
        yield _time(work / "builds" / LARGE, embedder, rule)


def _error(
    what: str,
    confidence: NDArray[np.float64],
    right: NDArray[np.float64],
    target: float | None = None,
) -> Row:
    error = expected_calibration_error(confidence, right)
    variant = f"{len(right)} matches of {what}"
    return Row("bcsd match: calibration error", variant, "–", "share", error, 1.0, "lower", target)


def judge(trial: Trial, rule: Rule) -> Found:
    """Pair the functions of a trial, and compare with the truth."""
    pairs = trial.pair(rule)
    true_rows, true_columns = trial.truth()
    a, b = trial.a.side, trial.b.side
    large = (a.num_blocks[true_rows] >= TINY_BLOCKS) & (b.num_blocks[true_columns] >= TINY_BLOCKS)
    partner = np.full(len(a), -1)
    kept = pairs.confidence >= rule.floor
    partner[pairs.rows[kept]] = pairs.columns[kept]
    nearest = trial.scores.corrected[true_rows].argmax(axis=1) == true_columns
    judged, right = trial.judge(pairs)
    chosen = judged & kept
    return Found(
        nearest[large],
        (partner[true_rows] == true_columns)[large],
        pairs.confidence[chosen],
        right[chosen],
    )


def _joined(found: Sequence[Found], name: str) -> NDArray[np.float64]:
    return np.concatenate([getattr(each, name) for each in found]).astype(np.float64)


def _time(folder: Path, embedder: Embedder, rule: Rule) -> Row:
    """Processor time from two files to the report, that of the process that lifts included; nothing is known before."""
    begin = busy_seconds()
    requests = [
        SideRequest(str(folder / build / "stripped.so"), listings=True, cache=False)
        for build in ("gcc-O2-x86_64", "clang-O3-x86_64")
    ]
    a, b = (read_side(request) for request in requests)
    matching = match(a, b, embedder, rule)
    page = report_page(matching, embedder.version, True)
    seconds = busy_seconds() - begin
    sizes = f"{len(a):,} and {len(b):,} functions, report of {len(page) / 1e6:.0f} MB"
    variant = f"{folder.name}: {sizes}; processor time of all processes, lifting included"
    return Row("bcsd match: files to report", variant, "–", "s", seconds, 1.0, "lower", 60.0)
