"""One partner at most for each function: the assignment that makes the sum largest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linear_sum_assignment

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Cells up to which the exact assignment is solved: 4,000 functions a side take a few seconds.
EXACT_CELLS = 16_000_000
#: Partners of each function that the greedy assignment looks at.
CANDIDATES = 50


def assign(utilities: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair rows with columns, each at most once.

        max Σ_{(i, j) ∈ M} u_ij    over one-to-one M with min(rows, columns) pairs

    exactly (Jonker–Volgenant) up to :data:`EXACT_CELLS` cells. Above, greedily: the best remaining pair first,
    among the :data:`CANDIDATES` best columns of each row; rows whose candidates are all taken stay alone.

    Args:
        utilities: ``(rows, columns)``, finite.

    Returns:
        Rows in ascending order, and the column of each.

    Source:
        Crouse 2016, On implementing 2D rectangular assignment algorithms (SciPy's solver).
    """
    if utilities.size <= EXACT_CELLS:
        rows, columns = linear_sum_assignment(utilities, maximize=True)
        return rows.astype(np.int64), columns.astype(np.int64)
    return greedy(utilities)


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
