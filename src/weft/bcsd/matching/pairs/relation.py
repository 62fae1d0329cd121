"""Whether two files have anything in common: by the calls that agree and, where these are few, by how alike pairs are.

    ℓ = Σ_ij s_ij · ln(1 + n_ij) / Σ_ij ln(1 + n_ij)       over the pairs that are not start-up code
    r = σ(r_0 + r_1 · ℓ)                                   whether the files have anything in common
    a = min((m + 1) / (n + 2), (m' + k · R · r) / (n' + k))

with s the likeness of a pair and n_ij the instructions of its shorter function, m of n calls that agree, m' of n'
without start-up code, k :data:`CALLS` and R :data:`RELATED`. In small files any pairing that looks for agreement finds
some, and start-up code agrees in all programs; many calls tell by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.bcsd.matching.side import Side
from weft.platform.confidence import Logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Agreement of calls above which two files are as related as any.
RELATED = 0.6
#: Calls that the likeness of all pairs counts as much as.
CALLS = 50


def call_agreement(a: Side, b: Side, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> float:
    """The share of the calls between paired functions of A whose partners in B call each other.

    Counted as if one more call agreed and one more did not: few calls say little.
    """
    agreeing, paired = agreeing_calls(a, b, rows, columns)
    return (agreeing + 1) / (paired + 2)


def agreeing_calls(a: Side, b: Side, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> tuple[int, int]:
    """How many calls between paired functions of A are calls between their partners, and of how many."""
    partner = np.full(len(a), -1)
    partner[rows] = columns
    callers = np.repeat(np.arange(len(a)), [len(called) for called in a.calls])
    callees = np.array([callee for called in a.calls for callee in called], dtype=np.int64)
    first, second = partner[callers], partner[callees]
    paired = (first >= 0) & (second >= 0)
    there = {(caller, callee) for caller, called in enumerate(b.calls) for callee in called}
    agreeing = sum(
        edge in there for edge in zip(first[paired].tolist(), second[paired].tolist(), strict=True)
    )
    return agreeing, int(paired.sum())


def beside_start_up(
    a: Side, b: Side, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which pairs are of no function that the loader enters, nor of one that these call."""
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return np.array([i not in a.start_up and j not in b.start_up for i, j in pairs], dtype=bool)


def relation(
    a: Side,
    b: Side,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    likeness: NDArray[np.float64],
    related: Logistic,
) -> float:
    """r, how probable it is that the files have anything in common, by how alike the given pairs are.

    Args:
        a: File A.
        b: File B.
        rows: Paired functions of A, without start-up code.
        columns: Their partners in B.
        likeness: Of each pair.
        related: r_0 and r_1.
    """
    lengths = np.log1p(np.minimum(a.num_instructions[rows], b.num_instructions[columns]))
    total = float(lengths.sum())
    mean = float(likeness @ lengths) / total if total else 0.0
    return float(related(np.array([[mean]]))[0])


def agreements(
    a: Side,
    b: Side,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    likeness: NDArray[np.float64],
    related: Logistic | None,
) -> tuple[NDArray[np.float64], float | None]:
    """The agreement a that each pair is judged by, and r.

    Start-up code agrees in every program: it is judged by the calls alone, as every pair is where nothing is known of
    likeness.

    Args:
        a: File A.
        b: File B.
        rows: Paired functions of A.
        columns: Their partners in B.
        likeness: Of each pair.
        related: See :func:`relation`; None where nothing is known of it.
    """
    found = np.full(len(rows), min(call_agreement(a, b, rows, columns), RELATED))
    if related is None:
        return found, None
    own = beside_start_up(a, b, rows, columns)
    probable = relation(a, b, rows[own], columns[own], likeness[own], related)
    agreeing, paired = agreeing_calls(a, b, rows[own], columns[own])
    found[own] = np.minimum(found[own], (agreeing + CALLS * RELATED * probable) / (paired + CALLS))
    return found, probable
