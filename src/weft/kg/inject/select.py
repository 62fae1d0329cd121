"""Steps 3 to 5: which candidates stay, so that common tails and "is a" do not swamp the rest.

Source:
    GraphMERT (Belova et al., 2025), the injection of seed triples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kg.inject.candidates import Candidates

Indices = NDArray[np.int64]

_ROUNDING = 1e-9
"""(0.9 − 0.89) / 0.01 is 0.99…98 in floating point, and is meant to be 1."""


def above(scores: NDArray[np.float64], alpha: float) -> Indices:
    """Step 3: candidates whose score is above α."""
    return np.flatnonzero(scores > alpha)


def above_quantile(scores: NDArray[np.float64], alpha: float) -> Indices:
    """Step 3 for scores without a scale of their own: candidates at or above the α-quantile of the scores.

    "At" as well, so that a single candidate, or scores that are all the same, are not all lost.
    """
    return (
        np.flatnonzero(scores >= np.quantile(scores, alpha)) if len(scores) else np.zeros(0, dtype=np.int64)
    )


def best_occurrences(candidates: Candidates, scores: NDArray[np.float64]) -> Indices:
    """Step 4: each triple only where its score is highest, in the first such chunk."""
    order = np.lexsort((candidates.chunk, -scores, candidates.triple))
    triple = candidates.triple[order]
    return np.sort(order[np.append(True, triple[1:] != triple[:-1])]) if len(order) else order


def buckets(
    candidates: Candidates, scores: NDArray[np.float64], score_step: float = 0.01, relation_step: int = 100
) -> tuple[Indices, Indices]:
    """Buckets of scores and of relations, among the candidates given.

        score bucket = ⌊(highest score − score) / score_step⌋
        relation bucket = ⌊triples of the relation / relation_step⌋

    Returns:
        Both, ``(c,)`` each.
    """
    if not len(scores):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    by_score = np.floor((scores.max() - scores) / score_step + _ROUNDING).astype(np.int64)
    by_relation = np.bincount(candidates.relation)[candidates.relation] // relation_step
    return by_score, by_relation


def first_per_head(
    candidates: Candidates,
    scores: NDArray[np.float64],
    score_bucket: Indices,
    relation_bucket: Indices,
    keep: int = 1,
) -> Indices:
    """Step 5: by (score bucket ↑, relation bucket ↑, score ↓), the first of each head occurrence.

    Args:
        candidates: What is left.
        scores: Theirs.
        score_bucket: Theirs.
        relation_bucket: Theirs.
        keep: How many of each head occurrence; 1 as published.
    """
    # The number of the triple comes last: ties are cut the same way in every run.
    order = np.lexsort((candidates.triple, -scores, relation_bucket, score_bucket))
    occurrence = np.stack([candidates.chunk[order], candidates.head[order]], axis=1)
    _, group = np.unique(occurrence, axis=0, return_inverse=True)
    by_group = np.argsort(group.reshape(-1), kind="stable")
    sizes = np.bincount(group.reshape(-1)) if len(group) else np.zeros(0, dtype=np.int64)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[by_group[rank < keep]])
