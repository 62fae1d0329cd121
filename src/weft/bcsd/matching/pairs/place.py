"""Where functions lie: what stands before and after them in the file.

Compilers lay the functions of a source file down in nearly the same order, and linkers the files; that survives
``strip``. So two functions between partners are more likely partners themselves, and of twins the order says which is
which.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Paired functions on each side of a function that are looked at, and what each weighs beside the nearer one.
NEAREST, FADING = 8, 0.7
#: The share of pairs in order from which on files are taken to have kept it, and how far a step may go.
_KEPT, _STEP = 0.25, 3


def place_agreement(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    confidence: NDArray[np.float64],
    shape: tuple[int, int],
) -> sparse.csr_array:
    """How far what lies around two functions is matched with each other, before with before and after with after.

        e_ij = g/2 · Σ_side Σ_{d, d'} ω_d ω_d' P[i_d, j_d']        ω_d = ρ^(d−1) / √(Σ_{k ≤ n} ρ^(2(k−1)))

    with i_d the d-th paired function before, or after, i in the file, P the confidence of each pair, n
    :data:`NEAREST` and ρ :data:`FADING`; g is :func:`order_kept` by the share that says it is, at most 1. Functions
    without a partner are passed over: what one file has inlined or left out moves nothing.

    Args:
        rows: Functions of A that are paired, by their place in the file.
        columns: Their partners in B.
        confidence: Of each pair.
        shape: Functions of A and of B.

    Returns:
        ``shape``, in [0, 1].
    """
    kept = min(order_kept(rows, columns, confidence) / _KEPT, 1.0)
    matched = sparse.csr_array((confidence.astype(np.float32), (rows, columns)), shape=shape)
    found = sparse.csr_array(shape, dtype=np.float32)
    if not kept:
        return found
    for after in (False, True):
        first, second = (
            _around(np.sort(paired), functions, after)
            for paired, functions in zip((rows, columns), shape, strict=True)
        )
        found = found + first @ matched @ second.T
    return sparse.csr_array(found * np.float32(kept / 2))


def order_kept(rows: NDArray[np.int64], columns: NDArray[np.int64], confidence: NDArray[np.float64]) -> float:
    """The share of pairs that lie one after the other in A, and a step or few further in B, among its paired functions.

    Each two that follow each other weigh as much as both are sure. Of unrelated files it is nearly 0, of builds of
    one program mostly above a half; a linker that sorts functions anyhow makes it 0.

    Args:
        rows: Functions of A.
        columns: Their partners in B.
        confidence: Of each pair.
    """
    order = np.argsort(rows, kind="stable")
    steps = np.diff(np.argsort(np.argsort(columns[order])))
    weights = confidence[order][1:] * confidence[order][:-1]
    total = float(weights.sum())
    return float(weights[(steps > 0) & (steps <= _STEP)].sum()) / total if total else 0.0


def _around(paired: NDArray[np.int64], functions: int, after: bool) -> sparse.csr_array:
    """ω of the paired functions on one side of each, ``(functions, functions)``."""
    weights = FADING ** np.arange(NEAREST)
    weights /= np.linalg.norm(weights)
    every = np.arange(functions)
    start = np.searchsorted(paired, every, "right" if after else "left")
    places = start[:, None] + np.arange(NEAREST) * (1 if after else -1) - (0 if after else 1)
    there = (places >= 0) & (places < len(paired))
    data = np.broadcast_to(weights, places.shape)[there].astype(np.float32)
    indices = np.repeat(every, there.sum(axis=1)), paired[places[there]]
    return sparse.csr_array((data, indices), shape=(functions, functions))
