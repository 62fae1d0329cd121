"""Recall and MRR of score matrices, in pools of any size, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from weft.errors import ConfigError, ShapeError
from weft.objective.intervals import Bucket, Interval, bootstrap_interval, by_size
from weft.objective.metrics import ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZE_EDGES = (32, 64, 128, 256)
"""Edges of the buckets by instructions of the query."""


@dataclass(frozen=True)
class Retrieval:
    """How well the right function was found.

    Args:
        queries: Their number.
        pool: Functions of the pool.
        recall_1: Recall@1 with its 95 % bootstrap interval over queries.
        recall_10: Recall@10.
        mrr: Mean reciprocal rank.
        sizes: Recall@1 by the query's number of instructions.
    """

    queries: int
    pool: int
    recall_1: Interval
    recall_10: float
    mrr: float
    sizes: tuple[Bucket, ...] = ()

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        first = self.recall_1
        return {
            "queries": self.queries,
            "pool": self.pool,
            "recall_1": first.estimate,
            "interval": [first.low, first.high],
            "recall_10": self.recall_10,
            "mrr": self.mrr,
            "sizes": {b.label: [b.count, None if b.mean != b.mean else b.mean] for b in self.sizes},
        }


def retrieve(
    scores: NDArray[Any],
    right: NDArray[np.int64],
    pool: int | None = None,
    sizes: NDArray[np.int64] | None = None,
) -> Retrieval:
    """Rank the right function of every query; ties count half.

        rank = 1 + |better| + |tied| / 2

    A pool of k functions is not drawn: each query's figures are their expected values over all pools that
    hold the right function and k − 1 others, which the hypergeometric distribution gives exactly.

    Args:
        scores: ``(queries, base)``.
        right: ``(queries,)``, the column of the right function.
        pool: k; the whole base where None.
        sizes: ``(queries,)``, instructions of each query, for the buckets.

    Raises:
        ConfigError: A pool below 2 or larger than the base.
        ShapeError: Shapes that do not fit.
    """
    base = scores.shape[1]
    size = base if pool is None else pool
    if not 2 <= size <= base:
        raise ConfigError(f"a pool of {size} functions out of {base}")
    if sizes is not None and sizes.shape != right.shape:
        raise ShapeError(f"sizes are {sizes.shape}, right is {right.shape}; they must be equal")
    above = ranks(scores, right).realistic - 1
    first, ten, reciprocal = _expected(above, base, size)
    return Retrieval(
        queries=len(right),
        pool=size,
        recall_1=bootstrap_interval(first),
        recall_10=float(ten.mean()),
        mrr=float(reciprocal.mean()),
        sizes=() if sizes is None else tuple(by_size(first, sizes, SIZE_EDGES)),
    )


def _expected(
    above: NDArray[np.float64], base: int, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Each query's chance of rank 1, of rank 10 or better, and mean of 1 / rank in a pool of that size.

    Args:
        above: How many of the ``base − 1`` others are above it, halves for ties.
        base: Functions to draw pools from.
        size: Of a pool.
    """
    if size == base:
        return (above == 0).astype(float), (above <= 9).astype(float), 1 / (1 + above)
    counts = np.unique(np.concatenate([np.floor(above), np.ceil(above)])).astype(np.int64)
    drawn = np.arange(min(int(counts.max()), size - 1) + 1)
    chance = stats.hypergeom.pmf(drawn[None], base - 1, counts[:, None], size - 1)
    table = np.stack([chance[:, 0], chance[:, :10].sum(axis=1), chance @ (1 / (1 + drawn))])
    # A half lies between the two whole numbers around it.
    low, high = (np.searchsorted(counts, whole(above)) for whole in (np.floor, np.ceil))
    first, ten, reciprocal = (table[:, low] + table[:, high]) / 2
    return first, ten, reciprocal
