"""How well the calls of two functions agree, as far as it is known which function is which."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from weft.bcsd.represent.calls import Calls
from weft.bcsd.use.score import ScoreWeights, without_hubs

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: So many of a query's best are looked at, here and by a search.
CANDIDATES = 200
#: τ, in scores; chosen on validation packages.
TEMPERATURE = 0.02
#: h of the correction for hubs once calls are counted; chosen on validation packages.
AGAIN = 1.0
#: Pairs that are less likely are no evidence.
_LEAST = 0.01
#: A function that more than so many call says nothing of any of them.
_COMMON = 256
_CHUNK = 1 << 14


def agreement(scores: sparse.csr_matrix, queries: Calls, base: Calls) -> NDArray[np.float32]:
    """How well calls agree: of each query and each of its candidates.

        P_nm = √(softmax_m(s_n· / τ) · softmax_n(s_·m / τ))        over the candidates that there are

        D_ij = 2 · (Σ_{n ∈ N(i), m ∈ N(j)} P_nm + |I(i) ∩ I(j)|) / (|N(i)| + |I(i)| + |N(j)| + |I(j)|)

    N(i) are the functions that i calls and I(i) the imports, which correspond by their names; a second term has the
    functions that call i and no imports. It is the Dice coefficient of two sets, of which it is only known how likely
    any two members are the same.

    Args:
        scores: s, ``(queries, base)``; what is stored are the candidates, 0 among them.
        queries: The calls among the queries, which are functions of one file.
        base: Those among the functions of the base.

    Returns:
        D with the callees and D with the callers together, 0 to 2, in the order of ``scores.data``.

    Differs from its kin:
        Similarity flooding (Melnik et al. 2002) lets similarities flow until they settle. Here they flow once, from
        pairs that are likely from both sides: a second round changed nothing on the validation packages.
    """
    likely = _likely(scores)
    rows = np.repeat(np.arange(scores.get_shape()[0]), np.diff(scores.indptr))
    columns = scores.indices
    common = _shared(_reached(queries.callees, likely), base.callees, rows, columns)
    common += _shared(queries.imports, base.imports, rows, columns)
    found = _dice(
        common, _sizes(queries.callees, queries.imports)[rows] + _sizes(base.callees, base.imports)[columns]
    )
    callers, theirs = _callers(queries.callees), _callers(base.callees)
    common = _shared(_reached(callers, likely), theirs, rows, columns)
    return found + _dice(common, _sizes(callers)[rows] + _sizes(theirs)[columns])


def with_agreement(
    scores: NDArray[np.float32], queries: Calls, base: Calls, weights: ScoreWeights
) -> NDArray[np.float32]:
    """Scores with what calls say of each query's best candidates; those of others stay as they are.

        t_ij = s_ij + c · D_ij        s'_ij = t_ij − h' · (r_i + r_j) / 2, r of t over all pairs, h' = AGAIN

    Who is surely another function, because its calls say so, is a hub to all others.

    Args:
        scores: s, ``(queries, base)``.
        queries: The calls among the queries.
        base: Those among the functions of the base.
        weights: c, and k of the correction.
    """
    count = min(CANDIDATES, scores.shape[1])
    chosen = np.sort(np.argpartition(-scores, count - 1, axis=1)[:, :count], axis=1)
    rows = np.arange(len(scores))[:, None]
    ends = np.arange(0, chosen.size + 1, count)
    some = sparse.csr_matrix((scores[rows, chosen].ravel(), chosen.ravel(), ends), shape=scores.shape)
    better = scores.copy()
    better[rows, chosen] += weights.calls * agreement(some, queries, base).reshape(chosen.shape)
    return without_hubs(better, replace(weights, hubness=AGAIN))


def without_hubs_among(scores: sparse.csr_matrix, weights: ScoreWeights) -> NDArray[np.float32]:
    """Scores of candidates corrected for hubs, s' of :func:`weft.bcsd.use.score.hybrid`, as far as they are known.

    Args:
        scores: s of each query's candidates, ``(queries, base)``.
        weights: h and k.

    Returns:
        s' in the order of ``scores.data``.
    """
    rows = np.repeat(np.arange(scores.get_shape()[0]), np.diff(scores.indptr))
    crowded = _top_mean(scores.data, rows, weights.neighbours)[rows]
    crowded = crowded + _top_mean(scores.data, scores.indices, weights.neighbours)[scores.indices]
    return (scores.data - weights.hubness * crowded / 2).astype(np.float32)


def _top_mean(values: NDArray[Any], groups: NDArray[Any], count: int) -> NDArray[np.float64]:
    """Mean of the largest so many values of each group; of all where there are fewer."""
    order = np.lexsort((-values, groups))
    sizes = np.bincount(groups)
    rank = np.arange(len(values)) - (np.cumsum(sizes) - sizes)[groups[order]]
    best = order[rank < count]
    sums = np.bincount(groups[best], values[best], minlength=len(sizes))
    return sums / np.maximum(np.minimum(sizes, count), 1)


def _reached(edges: sparse.csr_matrix, likely: sparse.csr_matrix) -> sparse.csr_matrix:
    """``(queries, base)``: of how many neighbours of a query a function is expected to be the other build."""
    reached: Any = edges @ likely
    return reached.tocsr()


def _likely(scores: sparse.csr_matrix) -> sparse.csr_matrix:
    """P."""
    forth = _softmax(scores.data, scores.indptr)
    # The same by columns: entries in the order of the columns, and back.
    order = np.lexsort((np.arange(len(scores.data)), scores.indices))
    ends = np.concatenate([[0], np.cumsum(np.bincount(scores.indices, minlength=scores.get_shape()[1]))])
    back = np.empty_like(forth)
    back[order] = _softmax(scores.data[order], ends)
    both = np.sqrt(forth * back)
    kept = both >= _LEAST
    ends = np.concatenate([[0], np.cumsum(kept)])[scores.indptr]
    return sparse.csr_matrix((both[kept], scores.indices[kept], ends), shape=scores.get_shape())


def _softmax(values: NDArray[Any], ends: NDArray[Any]) -> NDArray[np.float32]:
    """Of each part between two ends."""
    parts = np.diff(ends)
    filled = np.flatnonzero(parts)
    if not len(filled):
        return np.zeros(0, np.float32)
    owner = np.repeat(np.arange(len(filled)), parts[filled])
    starts = ends[:-1][filled]
    high = np.maximum.reduceat(values, starts)
    powers = np.exp((values - high[owner]) / TEMPERATURE)
    return (powers / np.add.reduceat(powers, starts)[owner]).astype(np.float32)


def _callers(callees: sparse.csr_matrix) -> sparse.csr_matrix:
    """Who calls each; nobody where they are too many."""
    transposed: Any = callees.T.tocsr()
    kept = np.diff(transposed.indptr) <= _COMMON
    chosen: Any = sparse.diags(kept.astype(np.float32)) @ transposed
    chosen.eliminate_zeros()
    return chosen.tocsr()


def _shared(
    left: sparse.csr_matrix, right: sparse.csr_matrix, rows: NDArray[Any], columns: NDArray[Any]
) -> NDArray[np.float32]:
    """Products of rows of ``left`` with rows of ``right``, pair by pair."""
    found = np.zeros(len(rows), np.float32)
    if not left.nnz or not right.nnz:
        return found
    for first in range(0, len(rows), _CHUNK):
        part = slice(first, first + _CHUNK)
        some: Any = left[rows[part]]
        product: Any = some.multiply(right[columns[part]]).sum(axis=1)
        found[part] = np.asarray(product).ravel()
    return found


def _sizes(*parts: sparse.csr_matrix) -> NDArray[np.int64]:
    return np.sum([np.diff(part.indptr) for part in parts], axis=0)


def _dice(common: NDArray[np.float32], sizes: NDArray[np.int64]) -> NDArray[np.float32]:
    return (2 * common / np.maximum(sizes, 1)).astype(np.float32)
