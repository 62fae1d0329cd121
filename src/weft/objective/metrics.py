"""Metrics as plain NumPy functions: ranking, thresholds, calibration error, intervals.

**The tie rule.** An item with the same score as the relevant one is neither before nor behind it. The
*realistic* rank charges half of the tied items, the *optimistic* none, the *pessimistic* all. Figures
are computed from the realistic rank; a model that gives everything one score lands in the middle of the
pool and not at its top.

Scores may be of any sign and may be infinite (−∞: not a candidate); NaN is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.errors import ConfigError, InputError, NonFiniteError, ShapeError
from weft.objective.intervals import Bucket, Interval, bootstrap_interval, by_size
from weft.platform.ranges import at_least

__all__ = [
    "Bucket",
    "Interval",
    "Ranks",
    "ThresholdCurve",
    "average_precision",
    "bootstrap_interval",
    "by_size",
    "expected_calibration_error",
    "hit_at_k",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "precision_recall_f1",
    "ranks",
    "recall_at_k",
    "roc_auc",
    "threshold_curve",
]

Floats = NDArray[np.float64]
Ties = Literal["realistic", "optimistic", "pessimistic"]
_CHARGE: dict[str, float] = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}


@dataclass(frozen=True)
class Ranks:
    """The rank of each query's best relevant item, from 1; each ``(queries,)``.

    Args:
        optimistic: No tied item counts.
        pessimistic: Every tied item counts.
    """

    optimistic: Floats
    pessimistic: Floats

    @property
    def realistic(self) -> Floats:
        """Half of the tied items count."""
        return (self.optimistic + self.pessimistic) / 2


def ranks(scores: ArrayLike, relevant: ArrayLike, ignored: ArrayLike | None = None) -> Ranks:
    """Rank the best relevant item of every query among the irrelevant ones.

        optimistic  = 1 + |{j irrelevant : s_j > s*}|        s* = max over relevant items
        pessimistic = 1 + |{j irrelevant : s_j ≥ s*}|

    Args:
        scores: ``(queries, pool)``, higher is better.
        relevant: bool ``(queries, pool)``, or the column of the one relevant item, int ``(queries,)``.
        ignored: bool ``(queries, pool)``: items left out (the query itself, other right answers).

    Raises:
        ShapeError: Shapes that do not fit.
        NonFiniteError: NaN among the scores.
        InputError: A query without a relevant item.
    """
    s, is_relevant, is_irrelevant = _ranking(scores, relevant, ignored)
    best = np.where(is_relevant, s, -np.inf).max(axis=1, keepdims=True)
    above = (is_irrelevant & (s > best)).sum(axis=1)
    tied = (is_irrelevant & (s == best)).sum(axis=1)
    return Ranks(1.0 + above, 1.0 + above + tied)


def hit_at_k(rank: ArrayLike, k: int) -> float:
    """Share of the queries whose rank is at most k; with one relevant item each, this is Recall@k."""
    at_least(1, k=k)
    return float((_ranks_given(rank) <= k).mean())


def mean_reciprocal_rank(rank: ArrayLike) -> float:
    """Mean of 1 / rank."""
    return float((1.0 / _ranks_given(rank)).mean())


def recall_at_k(
    scores: ArrayLike,
    relevant: ArrayLike,
    k: int,
    ignored: ArrayLike | None = None,
    ties: Ties = "realistic",
) -> float:
    """Mean over queries of the share of relevant items with a rank of at most k.

    The i-th best relevant item has the rank i + (irrelevant items above it) + charge · (tied with it).

    Args:
        scores: As in :func:`ranks`.
        relevant: As in :func:`ranks`.
        k: The depth.
        ignored: As in :func:`ranks`.
        ties: Which charge.

    Raises:
        InputError: As in :func:`ranks`.
        ConfigError: No such charge, or a depth below 1.
    """
    at_least(1, k=k)
    found = _relevant_ranks(scores, relevant, ignored, ties)
    return float(np.mean([(of_query <= k).mean() for of_query in found]))


def average_precision(
    scores: ArrayLike, relevant: ArrayLike, ignored: ArrayLike | None = None, ties: Ties = "realistic"
) -> Floats:
    """Average precision of every query; its mean is MAP.

        AP = 1/|R| · Σ_{i=1}^{|R|} i / rank_i        rank_i as in :func:`recall_at_k`

    Args:
        scores: As in :func:`ranks`.
        relevant: As in :func:`ranks`.
        ignored: As in :func:`ranks`.
        ties: Which charge.

    Returns:
        ``(queries,)``.

    Raises:
        InputError: As in :func:`ranks`.
        ConfigError: No such charge.
    """
    found = _relevant_ranks(scores, relevant, ignored, ties)
    return np.array([(np.arange(1, len(of_query) + 1) / of_query).mean() for of_query in found])


def mean_average_precision(
    scores: ArrayLike, relevant: ArrayLike, ignored: ArrayLike | None = None, ties: Ties = "realistic"
) -> float:
    """Mean of :func:`average_precision` over the queries."""
    return float(average_precision(scores, relevant, ignored, ties).mean())


@dataclass(frozen=True)
class ThresholdCurve:
    """Precision, recall and F1 when everything with a score ≥ threshold is taken; each ``(thresholds,)``.

    Args:
        thresholds: The distinct scores, descending.
        precision: Share of the taken that is right.
        recall: Share of the right that is taken.
        f1: Their harmonic mean; 0 where both are 0.
    """

    thresholds: Floats
    precision: Floats
    recall: Floats
    f1: Floats

    @property
    def best(self) -> int:
        """Index of the highest F1; of equal ones, that of the highest threshold."""
        return int(np.argmax(self.f1))


def threshold_curve(scores: ArrayLike, labels: ArrayLike, positives: int | None = None) -> ThresholdCurve:
    """Precision, recall and F1 at every distinct score; items of one score are taken together.

    Args:
        scores: ``(items,)``.
        labels: 0/1 or bool, ``(items,)``.
        positives: How many right items there are, where some never became an item; None counts ``labels``.

    Raises:
        InputError: No items, or fewer ``positives`` than labels that are 1.
    """
    s, y = _scored(scores, labels)
    total = int(y.sum()) if positives is None else positives
    if total < y.sum() or total == 0:
        raise InputError(
            f"positives is {total}, {int(y.sum())} labels are 1; there must be one, and no fewer"
        )
    order = np.argsort(-s, kind="stable")
    s, y = s[order], y[order]
    ends = np.append(np.flatnonzero(s[1:] != s[:-1]), len(s) - 1)
    right = np.cumsum(y, dtype=np.float64)[ends]
    precision, recall, f1 = _prf(right, ends + 1.0, float(total))
    return ThresholdCurve(s[ends], precision, recall, f1)


def precision_recall_f1(right: float, taken: float, positives: float) -> tuple[float, float, float]:
    """Precision, recall and F1 from counts; 0 where the denominator is 0.

    Args:
        right: Items taken that are right.
        taken: Items taken.
        positives: Items that are right.

    Raises:
        InputError: More right ones than were taken, or than there are.
    """
    if not 0 <= right <= min(taken, positives):
        raise InputError(f"{right} right of {taken} taken and {positives} there are: impossible")
    values = _prf(np.array([float(right)]), np.array([float(taken)]), float(positives))
    return float(values[0][0]), float(values[1][0]), float(values[2][0])


def roc_auc(scores: ArrayLike, labels: ArrayLike) -> float:
    """Area under the ROC curve: P(s⁺ > s⁻) + ½ · P(s⁺ = s⁻).

    Args:
        scores: ``(items,)``.
        labels: 0/1 or bool, ``(items,)``.

    Raises:
        InputError: Only one class is there.
    """
    s, y = _scored(scores, labels)
    negatives, of_positive = np.sort(s[~y]), s[y]
    if not len(negatives) or not len(of_positive):
        raise InputError(f"{len(of_positive)} positives and {len(negatives)} negatives; the area needs both")
    below = np.searchsorted(negatives, of_positive, side="left")
    up_to = np.searchsorted(negatives, of_positive, side="right")
    return float(((below + up_to) / 2).mean() / len(negatives))


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = 15) -> float:
    """How far confidence is from accuracy, in bins of equal width.

        ECE = Σ_b n_b/n · |accuracy_b − mean confidence_b|        b holds ((b−1)/bins, b/bins]

    Args:
        confidence: In [0, 1], ``(items,)``.
        correct: 0/1 or bool, ``(items,)``.
        bins: Their number.

    Raises:
        InputError: A confidence outside [0, 1].
        ConfigError: No bins.

    Source: Guo et al. 2017, On Calibration of Modern Neural Networks, equation (3).
    """
    c, y = _scored(confidence, correct)
    if c.min() < 0 or c.max() > 1:
        raise InputError(f"confidences from {c.min():g} to {c.max():g}; they must lie in [0, 1]")
    at_least(1, bins=bins)
    which = np.clip(np.ceil(c * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.bincount(which, weights=y.astype(np.float64) - c, minlength=bins)
    return float(np.abs(gaps).sum() / len(c))


def _ranking(
    scores: ArrayLike, relevant: ArrayLike, ignored: ArrayLike | None
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 2 or not s.size:
        raise ShapeError(f"scores are {s.shape}; they must be (queries, pool), neither of them 0")
    if np.isnan(s).any():
        raise NonFiniteError(f"{int(np.isnan(s).sum())} scores are NaN", where="ranking")
    r = np.asarray(relevant)
    if r.ndim == 1 and np.issubdtype(r.dtype, np.integer):
        if r.shape != s.shape[:1] or r.min() < 0 or r.max() >= s.shape[1]:
            raise ShapeError(f"relevant columns {r.shape} do not fit scores {s.shape}")
        r = np.arange(s.shape[1]) == r[:, None]
    left_out = np.zeros(s.shape, dtype=bool) if ignored is None else np.asarray(ignored)
    for name, array in (("relevant", r), ("ignored", left_out)):
        if array.shape != s.shape or array.dtype != np.bool_:
            raise ShapeError(
                f"{name} is {array.dtype} {array.shape}, scores are {s.shape}; it must be bool of that shape"
            )
    r = r & ~left_out
    if not r.any(axis=1).all():
        raise InputError("no relevant item in the pool", where=f"query {int(np.argmin(r.any(axis=1)))}")
    return s, r, ~r & ~left_out


def _relevant_ranks(
    scores: ArrayLike, relevant: ArrayLike, ignored: ArrayLike | None, ties: Ties
) -> list[Floats]:
    """The ranks of all relevant items of every query, best first."""
    if ties not in _CHARGE:
        raise ConfigError(f"ties is {ties!r}; it must be one of {', '.join(_CHARGE)}")
    found = []
    for s, is_relevant, is_irrelevant in zip(*_ranking(scores, relevant, ignored), strict=True):
        mine, others = np.sort(s[is_relevant])[::-1], np.sort(s[is_irrelevant])
        up_to = np.searchsorted(others, mine, side="right")
        tied = up_to - np.searchsorted(others, mine, side="left")
        found.append(np.arange(1, len(mine) + 1) + (len(others) - up_to) + _CHARGE[ties] * tied)
    return found


def _ranks_given(rank: ArrayLike) -> Floats:
    r = np.asarray(rank, dtype=np.float64)
    if r.ndim != 1 or not len(r):
        raise ShapeError(f"ranks are {r.shape}; they must be (queries,), at least one")
    if not (r >= 1).all():
        raise InputError(f"a rank of {r.min():g}; ranks count from 1")
    return r


def _scored(scores: ArrayLike, labels: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels)
    if s.shape != y.shape or s.ndim != 1 or not len(s):
        raise ShapeError(f"scores are {s.shape}, labels are {y.shape}; both must be (items,), at least one")
    if np.isnan(s).any():
        raise NonFiniteError(f"{int(np.isnan(s).sum())} scores are NaN")
    if not np.isin(y, (0, 1)).all():
        raise InputError("labels must be 0 or 1")
    return s, y.astype(bool)


def _prf(right: Floats, taken: Floats, positives: float) -> tuple[Floats, Floats, Floats]:
    precision = np.divide(right, taken, out=np.zeros_like(taken), where=taken > 0)
    recall = right / positives if positives else np.zeros_like(taken)
    both = precision + recall
    return precision, recall, np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
