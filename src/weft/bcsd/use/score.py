"""How alike two functions are: learned cosine, shared rare tokens, and a correction for hubs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.bcsd.represent.rows import Rows
from weft.errors import ShapeError
from weft.platform.ranges import is_number, require

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class ScoreWeights:
    """The shares of the hybrid score; tuned on validation packages and stored with the model.

    Args:
        lexical: Weight of the TF-IDF cosine beside the learned one; 0 leaves it out.
        hubness: Share h of the hubness correction; 0 leaves it out.
        neighbours: How many of the nearest the correction averages over.
        operations: Weight of the cosine of what two functions compute; 0 leaves it out.
        calls: What agreement of all callees, or all callers, adds to a score (:mod:`weft.bcsd.use.search.agreement`),
            where the functions of a file are asked for together; 0 leaves it out.

    Raises:
        ConfigError: A field breaks its rule.
    """

    lexical: float = 0.2
    hubness: float = 0.5
    neighbours: int = 10
    operations: float = 0.0
    calls: float = 0.0

    def __post_init__(self) -> None:
        for name in ("lexical", "hubness", "operations", "calls"):
            value = getattr(self, name)
            require(self, name, is_number(value) and value >= 0, "a number of at least 0")
        whole = type(self.neighbours) is int and self.neighbours >= 1
        require(self, "neighbours", whole, "an integer of at least 1")


def hybrid(
    queries: NDArray[np.float32],
    base: NDArray[np.float32],
    queries_lexical: Rows | None,
    base_lexical: Rows | None,
    weights: ScoreWeights,
    operations: tuple[Rows, Rows] | None = None,
) -> NDArray[np.float32]:
    """Scores of all pairs: learned and lexical cosine and shared operations together, then corrected for hubs.

        s_ij  = (e_i · e_j + w · l_i · l_j + v · o_i · o_j) / (1 + w + v)
        s'_ij = s_ij − h · (r_i + r_j) / 2
        r_i   = mean of the k largest s_i· over the base        r_j likewise over the queries

    A hub is a function that is somewhat near to everything; the correction takes its advantage away. It
    looks at all queries of the call together: with fewer than k of them r_j is 0.

    Args:
        queries: e_i, ``(queries, dimension)``, L2-normalised rows.
        base: e_j, ``(base, dimension)``, L2-normalised rows.
        queries_lexical: l_i, ``(queries, features)``; None leaves the part out.
        base_lexical: l_j, ``(base, features)``; None leaves the part out.
        weights: w, v, h and k.
        operations: o_i and o_j; where a row is empty or there are none, v is 0.

    Returns:
        ``(queries, base)`` float32, higher is more alike.

    Raises:
        ShapeError: Rows or widths that do not fit.

    Source:
        Conneau et al. 2018, "Word Translation Without Parallel Data", §2.3 (CSLS).

    Differs from the paper:
        h scales the correction and is tuned; h = 1 is CSLS, halved.
    """
    scores = combined(queries, base, queries_lexical, base_lexical, weights.lexical)
    if operations is not None:
        scores = with_operations(scores, *operations, weights)
    return without_hubs(scores, weights)


def with_operations(
    scores: NDArray[np.float32],
    queries: Rows,
    base: Rows,
    weights: ScoreWeights,
) -> NDArray[np.float32]:
    """Scores with what both functions compute; those of a pair of which one was not lifted stay as they are.

    Args:
        scores: Learned and lexical cosine together, ``(queries, base)``.
        queries: o_i of :func:`hybrid`, L2-normalised or empty rows.
        base: o_j.
        weights: w and v.
    """
    lifted = queries.present, base.present
    if not weights.operations or not (lifted[0].any() and lifted[1].any()):
        return scores
    return joined(scores, queries.products(base), np.outer(*lifted), weights)


def joined(
    scores: NDArray[np.float32], shared: NDArray[np.float32], lifted: NDArray[np.bool_], weights: ScoreWeights
) -> NDArray[np.float32]:
    """Learned and lexical cosine together with what functions compute, all of one shape.

    Args:
        scores: Learned and lexical cosine.
        shared: o_i · o_j of :func:`hybrid`.
        lifted: Where both functions were lifted; elsewhere the scores stay as they are.
        weights: w and v.
    """
    before, more = 1 + weights.lexical, weights.operations
    if not more or not lifted.any():
        return scores
    return np.where(lifted, (before * scores + more * shared) / (before + more), scores).astype(np.float32)


def without_hubs(scores: NDArray[np.float32], weights: ScoreWeights) -> NDArray[np.float32]:
    """Correct scores for hubs: s' of :func:`hybrid` from s, ``(queries, base)``."""
    if not weights.hubness or not scores.size:
        return scores
    return (scores - weights.hubness * crowding(scores, weights.neighbours)).astype(np.float32, copy=False)


def combined(
    queries: NDArray[np.float32],
    base: NDArray[np.float32],
    queries_lexical: Rows | None,
    base_lexical: Rows | None,
    lexical: float,
) -> NDArray[np.float32]:
    """Learned and lexical cosine together, s of :func:`hybrid`; arguments as there, ``lexical`` is w."""
    _check(queries, base, queries_lexical, base_lexical)
    scores = queries @ base.T
    if lexical and queries_lexical is not None and base_lexical is not None:
        scores = (scores + lexical * queries_lexical.products(base_lexical)) / (1 + lexical)
    return scores.astype(np.float32, copy=False)


def crowding(scores: NDArray[np.float32], neighbours: int) -> NDArray[np.float32]:
    """How near both sides of a pair are to everything: (r_i + r_j) / 2 of :func:`hybrid`.

    Args:
        scores: ``(queries, base)``, s.
        neighbours: k.

    Returns:
        ``(queries, base)``.
    """
    of_queries = _nearest_mean(scores, neighbours)
    of_base = _nearest_mean(scores.T, neighbours) if len(scores) >= neighbours else np.zeros(scores.shape[1])
    return ((of_queries[:, None] + of_base) / 2).astype(np.float32)


def _nearest_mean(scores: NDArray[Any], neighbours: int) -> NDArray[Any]:
    """Mean of each row's largest entries."""
    count = min(neighbours, scores.shape[1])
    return np.partition(scores, scores.shape[1] - count, axis=1)[:, -count:].mean(axis=1)


def _check(
    queries: NDArray[Any],
    base: NDArray[Any],
    queries_lexical: Rows | None,
    base_lexical: Rows | None,
) -> None:
    if queries.ndim != 2 or base.ndim != 2 or queries.shape[1] != base.shape[1]:
        raise ShapeError(f"queries are {queries.shape} and base is {base.shape}; the widths must be equal")
    for name, vectors, lexical in (("queries", queries, queries_lexical), ("base", base, base_lexical)):
        rows = None if lexical is None else len(lexical)
        if rows is not None and rows != len(vectors):
            raise ShapeError(f"{rows} lexical rows for {len(vectors)} embeddings of the {name}")
