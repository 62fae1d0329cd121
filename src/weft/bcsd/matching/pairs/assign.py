"""One partner at most for each function: the assignment that is right as often as can be expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Cells up to which the exact assignment is solved: 4,000 functions a side take a few seconds.
EXACT_CELLS = 16_000_000
#: Partners of each function that the greedy assignment looks at.
CANDIDATES = 50
#: How much of a difference in utility counts where rivals are weighed; chosen on the validation packages.
_SHARPNESS = 0.5


def assign(utilities: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair rows with columns, each at most once.

        max Σ_{(i, j) ∈ M} p_ij    over one-to-one M with min(rows, columns) pairs
        p_ij = e_ij / (Σ_k e_ik + Σ_k e_kj − e_ij)        e_ij = exp(u_ij / 2)

    exactly (Jonker–Volgenant) up to :data:`EXACT_CELLS` cells; p is the chance of a pair among its rivals. The sum of
    the utilities themselves gives right pairs away where a file has many functions that the other lacks: each of
    them must go somewhere. Above, greedily: the best remaining pair first, among the :data:`CANDIDATES` best
    columns of each row; rows whose candidates are all taken stay alone.

    Args:
        utilities: ``(rows, columns)``, finite.

    Returns:
        Rows in ascending order, and the column of each.

    Source:
        Crouse 2016, On implementing 2D rectangular assignment algorithms (SciPy's solver).
    """
    if utilities.size <= EXACT_CELLS:
        rows, columns = linear_sum_assignment(chances(utilities), maximize=True)
        return rows.astype(np.int64), columns.astype(np.int64)
    return greedy(utilities)


def chances(utilities: NDArray[np.float32]) -> NDArray[np.float64]:
    """The chance p of each pair among its rivals: see :func:`assign`."""
    logits = _SHARPNESS * utilities.astype(np.float64)
    of_rows, of_columns = (np.asarray(logsumexp(logits, axis=axis, keepdims=True)) for axis in (1, 0))
    # Half of it at most, and so far from 1 that nothing cancels.
    share = np.exp(logits - np.logaddexp(of_rows, of_columns))
    return share / (1 - share)


def greedy(
    utilities: NDArray[np.float32], candidates: int = CANDIDATES
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The greedy form of :func:`assign`."""
    count = min(candidates, utilities.shape[1])
    columns = np.argpartition(-utilities, count - 1, axis=1)[:, :count]
    values = np.take_along_axis(utilities, columns, axis=1)
    rows = np.repeat(np.arange(len(utilities)), count)
    # Ties by row, then column, so that the same input gives the same pairs.
    order = np.lexsort((columns.reshape(-1), rows, -values.reshape(-1)))
    partner = np.full(len(utilities), -1, dtype=np.int64)
    taken = np.zeros(utilities.shape[1], dtype=bool)
    for row, column in zip(rows[order].tolist(), columns.reshape(-1)[order].tolist(), strict=True):
        if partner[row] < 0 and not taken[column]:
            partner[row] = column
            taken[column] = True
    kept = np.flatnonzero(partner >= 0)
    return kept, partner[kept]
