"""From scores to one-to-one pairs: assign, let the call graph speak, assign again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from weft.bcsd.match.assign import assign
from weft.bcsd.match.evidence import (
    KINDS,
    MENTIONS,
    call_matrix,
    neighbour_agreement,
    shared_mentions,
)
from weft.bcsd.match.rule import LARGEST_MARGIN, Rule
from weft.bcsd.match.side import Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Times that the call graph is asked again with what it led to.
ROUNDS = 4
#: Functions of equal tokens are anchors from this length on; shorter ones are equal by chance.
ANCHOR_INSTRUCTIONS = 8
_ANCHOR = 1000.0


@dataclass(frozen=True)
class Pairs:
    """A one-to-one pairing; the arrays run over its pairs, by row of A.

    Args:
        rows: Functions of A.
        columns: Functions of B.
        utilities: What the assignment added up.
        features: ``(pairs, len(FEATURES))``.
        confidence: Of each pair, in (0, 1).
        evidence: Kind → ``(functions of A, functions of B)``.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    utilities: NDArray[np.float64]
    features: NDArray[np.float64]
    confidence: NDArray[np.float64]
    evidence: dict[str, sparse.csr_array]


def pair(scores: NDArray[np.float32], a: Side, b: Side, rule: Rule, rounds: int = ROUNDS) -> Pairs:
    """Match the functions of two files.

    The first assignment sees the scores and what functions mention; each further one also sees how far the
    neighbours in the call graph are matched with each other, weighted by confidence, and the last one stands.
    Equal tokens that occur once on each side are a pair from the start.

    Args:
        scores: Hybrid scores, ``(functions of A, functions of B)``.
        a: File A.
        b: File B.
        rule: What each of them is worth.
        rounds: Further assignments at most; it ends earlier when nothing changes.
    """
    evidence = {kind: shared_mentions(getattr(a, kind), getattr(b, kind)) for kind in MENTIONS}
    same = same_tokens(a, b)
    anchors = _anchors(a, b, same)
    fixed = rule.score * scores
    for kind in MENTIONS:
        _add(fixed, kind, evidence[kind], rule)
    calls = {"callees": (call_matrix(a.calls), call_matrix(b.calls))}
    calls["callers"] = (sparse.csr_array(calls["callees"][0].T), sparse.csr_array(calls["callees"][1].T))
    pairs = _settle(fixed, evidence, a, b, same, anchors, rule)
    for _ in range(rounds):
        matched = sparse.csr_array(
            (pairs.confidence.astype(np.float32), (pairs.rows, pairs.columns)), shape=scores.shape
        )
        for kind, (first, second) in calls.items():
            evidence[kind] = neighbour_agreement(first, second, matched)
        utilities = fixed.copy()
        for kind in calls:
            _add(utilities, kind, evidence[kind], rule)
        before = pairs
        pairs = _settle(utilities, evidence, a, b, same, anchors, rule)
        if np.array_equal(before.rows, pairs.rows) and np.array_equal(before.columns, pairs.columns):
            break
    return pairs


def same_tokens(a: Side, b: Side) -> sparse.csr_array:
    """1 where two functions have equal token rows, ``(functions of A, functions of B)``."""
    rows: dict[str, list[int]] = {}
    for row, digest in enumerate(a.table.column("token_digest").to_pylist()):
        rows.setdefault(digest, []).append(row)
    found = [
        (row, column)
        for column, digest in enumerate(b.table.column("token_digest").to_pylist())
        for row in rows.get(digest, ())
    ]
    indices = np.array(found, dtype=np.int64).reshape(-1, 2).T
    ones = np.ones(indices.shape[1], dtype=np.float32)
    return sparse.csr_array((ones, (indices[0], indices[1])), shape=(len(a), len(b)))


def _anchors(a: Side, b: Side, same: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of equal tokens, long enough, that have no rival of equal tokens on either side."""
    rows, columns = (np.asarray(indices, dtype=np.int64) for indices in same.tocoo().coords)
    alone = (np.bincount(rows, minlength=len(a))[rows] == 1) & (
        np.bincount(columns, minlength=len(b))[columns] == 1
    )
    kept = alone & (a.num_instructions[rows] >= ANCHOR_INSTRUCTIONS)
    return rows[kept], columns[kept]


def _settle(
    utilities: NDArray[np.float32],
    evidence: dict[str, sparse.csr_array],
    a: Side,
    b: Side,
    same: sparse.csr_array,
    anchors: tuple[NDArray[np.int64], NDArray[np.int64]],
    rule: Rule,
) -> Pairs:
    """Assign, and say how sure each pair is."""
    utilities[anchors] += _ANCHOR
    rows, columns = assign(utilities)
    # Anchored or not, a pair is judged by what it is worth itself.
    utilities[anchors] -= _ANCHOR
    values = utilities[rows, columns].astype(np.float64)
    shorter = np.minimum(a.num_instructions[rows], b.num_instructions[columns])
    features = np.stack(
        [
            values,
            margins(utilities, rows, columns),
            np.log2(np.maximum(shorter, 1)),
            np.asarray(same[rows, columns]).reshape(-1),
        ],
        axis=1,
    )
    return Pairs(rows, columns, values, features, rule.confidence(features), dict(evidence))


def margins(
    utilities: NDArray[np.float32], rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How far each pair is above its best rival: another column in its row, or another row in its column.

    Returns:
        ``(pairs,)``, below 0 where the assignment took a second best; 0 where there is no rival at all, since
        then nothing was compared; at most :data:`LARGEST_MARGIN`.
    """
    chosen = utilities[rows, columns]
    rival = np.full(len(rows), -np.inf)
    for matrix, own in ((utilities, rows), (utilities.T, columns)):
        if matrix.shape[1] < 2:
            continue
        top = np.partition(matrix, matrix.shape[1] - 2, axis=1)[:, -2:]
        # The pair is its row's best, or the best is the rival.
        rival = np.maximum(rival, np.where(chosen >= top[own, 1], top[own, 0], top[own, 1]))
    return np.minimum(np.where(np.isinf(rival), 0.0, chosen - rival), LARGEST_MARGIN)


def _add(utilities: NDArray[np.float32], kind: str, evidence: sparse.csr_array, rule: Rule) -> None:
    entries = evidence.tocoo()
    utilities[entries.coords] += np.float32(rule.evidence[KINDS.index(kind)]) * entries.data
