"""Functions that the other file holds inside their callers.

Where a compiler inlines a function, what it computes is found in its caller, and the function looks more like that
caller than what is left of the caller does. Of two files the one with more functions has the inlined ones apart: a pair
of such a function y and a function c of the other file goes to y's caller z if z and y together are more like c than y.
Where it is known what functions call, a caller's own score is that of it together with what it calls.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft.bcsd.matching.pairs.seen import Seen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.bcsd.matching.side import Side
    from weft.bcsd.use.score import ScoreWeights

#: Functions of one file to those of the other from which on one is taken to be inlined more.
UNEQUAL = 1.1
#: A caller that is as sure of another partner keeps it.
FREE = 0.35
#: How much more alike caller and function must be than the function alone: of its only caller, the same where rows are
#: blended with callees, and of one of two, four …: chosen on the validation packages.
_ONLY, _ONLY_BLENDED, _EACH = -0.01, -0.03, 0.035


class Handed(NamedTuple):
    """A pair that went from a function to its caller.

    Args:
        pair: Which pair.
        caller: The function that has it now, of the file with more functions.
        likeness: The score of both functions together, without the correction for hubs.
        instructions: Of both together.
    """

    pair: int
    caller: int
    likeness: float
    instructions: int


class Inlining:
    """What is inlined in one of two files.

    Args:
        a: File A.
        b: File B.
        seen: Both files' functions as scores see them.
        weights: Of the hybrid score.
    """

    def __init__(self, a: Side, b: Side, seen: tuple[Seen, Seen], weights: ScoreWeights) -> None:
        self._weights = weights
        #: Whether functions of A, or of B, may be inlined in the other.
        self.of_a = len(a) > UNEQUAL * len(b)
        self.of_b = len(b) > UNEQUAL * len(a)
        self._more = b if self.of_b else a
        self._seen, self._there = (seen[1], seen[0]) if self.of_b else seen
        self._known: dict[tuple[int, int, int], float] = {}

    def hand_over(
        self,
        functions: NDArray[np.int64],
        partners: NDArray[np.int64],
        confidence: NDArray[np.float64],
        likeness: NDArray[np.float64],
        plain: NDArray[np.float32],
    ) -> list[Handed]:
        """The pairs that belong to a caller.

        Args:
            functions: Of each pair, the function of the file with more functions.
            partners: The other one.
            confidence: Of each pair.
            likeness: Of each pair, without the correction for hubs.
            plain: The same of all pairs, ``(functions of the file with more, of the other)``.

        Returns:
            Each pair and each caller once at most.
        """
        sure = np.zeros(len(self._more))
        sure[functions] = confidence
        found: list[tuple[float, Handed]] = []
        lengths = self._more.num_instructions
        for number, (y, c) in enumerate(zip(functions.tolist(), partners.tolist(), strict=True)):
            callers = set(self._more.callers[y]) - {y}
            spread = _EACH * math.log2(max(len(callers), 1))
            for z in sorted(callers):
                if sure[z] >= FREE:
                    continue
                blended = bool(self._seen.words.known[z] and self._there.words.known[c])
                alike = float(plain[z, c]) if blended else self._together(z, y, c)
                more = alike - likeness[number] - spread - (_ONLY_BLENDED if blended else _ONLY)
                if more > 0:
                    found.append((more, Handed(number, z, alike, int(lengths[y] + lengths[z]))))
        kept: list[Handed] = []
        used: set[int] = set()
        taken: set[int] = set()
        for _, one in sorted(found, key=lambda entry: (-entry[0], entry[1])):
            if one.pair not in used and one.caller not in taken:
                kept.append(one)
                used.add(one.pair)
                taken.add(one.caller)
        # A caller that gets a pair has no other to hand on.
        return [one for one in kept if functions[one.pair] not in taken]

    def _together(self, z: int, y: int, c: int) -> float:
        """The plain hybrid score of two functions taken as one, and one of the other file."""
        key = (z, y, c)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._score(z, y, c)
        return known

    def _score(self, z: int, y: int, c: int) -> float:
        lengths = self._more.num_instructions
        vector = lengths[z] * self._seen.vectors[z] + lengths[y] * self._seen.vectors[y]
        learned = float(vector @ self._there.vectors[c]) / max(float(np.linalg.norm(vector)), 1e-9)
        weights = self._weights
        total, share = learned, 1.0
        if weights.lexical:
            total += weights.lexical * _shared(self._seen.words.own, z, y, self._there.words.own, c)
            share += weights.lexical
        lifted = all(
            rows.indptr[row] < rows.indptr[row + 1]
            for rows, row in ((self._seen.operations.own, y), (self._there.operations.own, c))
        )
        if weights.operations and lifted:
            computed = self._seen.operations.own, self._there.operations.own
            total += weights.operations * _shared(computed[0], z, y, computed[1], c)
            share += weights.operations
        return total / share


def _shared(rows: Any, z: int, y: int, others: Any, c: int) -> float:
    """The cosine of the union of two TF-IDF rows by presence and a third row.

    A row is the idf of its features by its norm, so that any feature which two rows share tells what their norms are to
    each other; where two share none, the third may have something of both.
    """
    first, second, third = _row(rows, z), _row(rows, y), _row(others, c)
    scale = _ratio(first, second) or _ratio(third, second) / (_ratio(third, first) or 1.0) or 1.0
    only = np.isin(second.features, first.features, assume_unique=True, invert=True)
    features = np.concatenate([first.features, second.features[only]])
    weights = np.concatenate([first.weights, scale * second.weights[only]])
    _, in_union, in_third = np.intersect1d(features, third.features, assume_unique=True, return_indices=True)
    norm = float(np.linalg.norm(weights))
    return float(weights[in_union] @ third.weights[in_third]) / norm if norm else 0.0


class _Row(NamedTuple):
    features: NDArray[np.int32]
    weights: NDArray[np.float32]


def _row(matrix: Any, row: int) -> _Row:
    held = slice(matrix.indptr[row], matrix.indptr[row + 1])
    there = matrix.data[held] > 0
    return _Row(matrix.indices[held][there], matrix.data[held][there])


def _ratio(first: _Row, second: _Row) -> float:
    """How much more the first row gives to a feature that both have; 0 where they share none."""
    _, ours, theirs = np.intersect1d(first.features, second.features, assume_unique=True, return_indices=True)
    return float(np.median(first.weights[ours] / second.weights[theirs])) if len(ours) else 0.0
