"""How sure a figure is, and how it depends on size: bootstrap intervals and means by bucket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.errors import ConfigError, InputError, ShapeError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A figure with its bootstrap interval."""

    estimate: float
    low: float
    high: float


def _mean(values: Floats) -> float:
    return float(values.mean())


def bootstrap_interval(
    values: ArrayLike,
    statistic: Callable[[Floats], float] = _mean,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """The percentile bootstrap of a statistic.

    Args:
        values: One entry, or row, for each item; for two systems on the same items, their differences.
        statistic: From values to a number.
        groups: Items of one group (document, package) are drawn together, ``(items,)``; None draws items.
        level: Share of the resamples inside.
        resamples: Their number.
        seed: Of the draws.

    Raises:
        InputError: No values.
        ConfigError: A level outside (0, 1) or no resamples.

    Source: Efron & Tibshirani 1993, An Introduction to the Bootstrap, §13.3.
    """
    v = np.asarray(values, dtype=np.float64)
    if not len(v):
        raise InputError("no values to resample")
    if not 0 < level < 1 or resamples < 1:
        raise ConfigError(
            f"level {level} with {resamples} resamples; level must lie in (0, 1), resamples be at least 1"
        )
    draw = np.random.default_rng(seed)
    if groups is None:
        drawn = [statistic(v[draw.integers(len(v), size=len(v))]) for _ in range(resamples)]
    else:
        g = np.asarray(groups)
        if g.shape != v.shape[:1]:
            raise ShapeError(f"groups are {g.shape}, values are {v.shape}; one group for each item")
        members = [np.flatnonzero(g == name) for name in np.unique(g)]
        picks = (draw.integers(len(members), size=len(members)) for _ in range(resamples))
        drawn = [statistic(v[np.concatenate([members[i] for i in pick])]) for pick in picks]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(statistic(v)), float(low), float(high))


@dataclass(frozen=True)
class Bucket:
    """The mean of a figure over the items of one range of sizes; NaN where there are none."""

    label: str
    count: int
    mean: float


def by_size(values: ArrayLike, sizes: ArrayLike, edges: Sequence[int]) -> list[Bucket]:
    """Means by size: below the first edge, from each edge to before the next, and from the last on.

    Args:
        values: ``(items,)``.
        sizes: Integers, ``(items,)``.
        edges: Ascending.

    Raises:
        ShapeError: As many values as sizes are needed.
        ConfigError: No edges, or edges that do not ascend.
    """
    v, n = np.asarray(values, dtype=np.float64), np.asarray(sizes)
    if v.shape != n.shape or v.ndim != 1:
        raise ShapeError(f"values are {v.shape}, sizes are {n.shape}; both must be (items,)")
    if not edges or any(b <= a for a, b in pairwise(edges)):
        raise ConfigError(f"edges are {list(edges)}; they must ascend, and there must be one")
    inner = [f"{a}–{b - 1}" if b - a > 1 else f"{a}" for a, b in pairwise(edges)]
    which = np.searchsorted(np.asarray(edges), n, side="right")
    buckets = []
    for index, label in enumerate([f"<{edges[0]}", *inner, f"≥{edges[-1]}"]):
        inside = v[which == index]
        buckets.append(Bucket(label, len(inside), float(inside.mean()) if len(inside) else float("nan")))
    return buckets
