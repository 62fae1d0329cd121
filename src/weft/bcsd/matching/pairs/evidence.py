"""Agreement of two files' functions in what is not learned: imports, constants, strings, the call graph, the place.

Every kind is a sparse matrix ``(functions of A, functions of B)`` with entries in [0, 1]; an absent entry is 0,
"nothing to see", not "different".
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from scipy import sparse

#: Kinds that do not depend on what is matched so far.
MENTIONS = ("imports", "constants", "strings")
#: Kinds that do.
NEIGHBOURS = ("callees", "callers", "place")
#: All kinds, in the order of the weights.
KINDS = (*MENTIONS, *NEIGHBOURS)


def shared_mentions(
    first: Sequence[Sequence[Hashable]], second: Sequence[Sequence[Hashable]]
) -> sparse.csr_array:
    """How much of what two functions mention is the same, the rare weighing more than the common.

        s(a, b) = ⟨w_a, w_b⟩ / (‖w_a‖ ‖w_b‖)        w_t = ln(1 + N / n_t) where the function mentions t, else 0

    with N functions in both files and n_t of them mentioning t.

    Args:
        first: What each function of A mentions, distinct.
        second: What each of B does.

    Returns:
        ``(len(first), len(second))``.
    """
    both = _weighted(_incidence([*first, *second]))
    return sparse.csr_array(both[: len(first)] @ both[len(first) :].T)


def call_matrix(calls: Sequence[Sequence[int]]) -> sparse.csr_array:
    """Who calls whom, ``(functions, functions)``, without weights."""
    rows = np.repeat(np.arange(len(calls)), [len(called) for called in calls])
    called = np.array([target for targets in calls for target in targets], dtype=np.int64)
    shape = (len(calls), len(calls))
    return sparse.csr_array((np.ones(len(rows), dtype=np.float32), (rows, called)), shape=shape)


def neighbour_agreement(
    first: sparse.csr_array, second: sparse.csr_array, matched: sparse.csr_array
) -> sparse.csr_array:
    """How much of two functions' neighbours is matched with each other.

        s = Ĉ_A · P · Ĉ_Bᵀ        Ĉ: rows of the call matrix, neighbour j weighted by ln(1 + N / n_j), of norm 1

    with n_j the number of functions that have j as neighbour: a function that everybody calls says little.

    Args:
        first: Call matrix of A (transposed for callers).
        second: Call matrix of B (transposed for callers).
        matched: P, ``(functions of A, functions of B)``: the confidence of each pair of the current matching.

    Returns:
        ``(functions of A, functions of B)``.
    """
    return sparse.csr_array(_weighted(first) @ matched @ _weighted(second).T)


def _incidence(mentions: Sequence[Sequence[Hashable]]) -> sparse.csr_array:
    columns: dict[Hashable, int] = {}
    indices = [columns.setdefault(item, len(columns)) for items in mentions for item in items]
    offsets = np.concatenate([[0], np.cumsum([len(items) for items in mentions], dtype=np.int64)])
    data = np.ones(len(indices), dtype=np.float32)
    return sparse.csr_array((data, np.array(indices, dtype=np.int64), offsets), (len(mentions), len(columns)))


def _weighted(incidence: sparse.csr_array) -> sparse.csr_array:
    """Columns weighted by how rare they are, rows of norm 1; rows of nothing stay so."""
    height, width = incidence.shape or (0, 0)
    often = np.bincount(incidence.indices, minlength=width)
    matrix = sparse.csr_array(incidence, dtype=np.float32, copy=True)
    matrix.data *= np.log1p(height / np.maximum(often, 1)).astype(np.float32)[matrix.indices]
    squares = np.zeros(height, dtype=np.float64)
    rows = np.repeat(np.arange(height), np.diff(matrix.indptr))
    np.add.at(squares, rows, np.square(matrix.data, dtype=np.float64))
    matrix.data /= np.sqrt(squares).astype(np.float32)[rows]
    return matrix
