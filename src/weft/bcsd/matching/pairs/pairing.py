"""From scores to one-to-one pairs: assign, let the call graph speak, assign again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from weft.bcsd.matching.pairs.assign import assign
from weft.bcsd.matching.pairs.evidence import (
    KINDS,
    MENTIONS,
    NEIGHBOURS,
    call_matrix,
    neighbour_agreement,
    shared_mentions,
)
from weft.bcsd.matching.pairs.inlined import Inlining
from weft.bcsd.matching.pairs.place import place_agreement
from weft.bcsd.matching.pairs.relation import agreements
from weft.bcsd.matching.pairs.seen import Scores
from weft.bcsd.matching.rule import FEATURES, LARGEST_MARGIN, Rule
from weft.bcsd.matching.side import Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Times that the call graph is asked again with what it led to.
ROUNDS = 4
#: Functions of equal tokens are anchors from this length on; shorter ones are equal by chance.
ANCHOR_INSTRUCTIONS = 8
_ANCHOR = 1000.0
_SIZE, _LENGTHS, _LIKENESS, _AGREEMENT, _HANDED, _CALLERS = map(
    FEATURES.index, ("size", "lengths", "likeness", "agreement", "handed", "callers")
)


@dataclass(frozen=True)
class Pairs:
    """A one-to-one pairing; the arrays run over its pairs, by row of A.

    Args:
        rows: Functions of A.
        columns: Functions of B.
        features: ``(pairs, len(FEATURES))``.
        confidence: Of each pair, in (0, 1); 0 of start-up code and something else.
        evidence: Kind → ``(functions of A, functions of B)``.
        related: How probable it is, by how alike the pairs are, that the files have anything in common; None where the
            rule does not tell.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    features: NDArray[np.float64]
    confidence: NDArray[np.float64]
    evidence: dict[str, sparse.csr_array]
    related: float | None = None


def pair(
    scores: Scores, a: Side, b: Side, rule: Rule, rounds: int = ROUNDS, inlining: Inlining | None = None
) -> Pairs:
    """Match the functions of two files.

    The first assignment sees the scores and what functions mention; each further one also sees how far the
    neighbours in the call graph, and those in the file, are matched with each other, weighted by confidence, and the
    last one stands. Equal tokens that occur once on each side are a pair from the start. After each assignment, what
    the other file has inlined goes to the callers. A pair of start-up code and something else is sure of nothing.

    Args:
        scores: Of all pairs.
        a: File A.
        b: File B.
        rule: What each of them is worth.
        rounds: Further assignments at most; it ends earlier when nothing changes.
        inlining: Tells what is inlined; None where nothing is looked for.
    """
    evidence = {kind: shared_mentions(getattr(a, kind), getattr(b, kind)) for kind in MENTIONS}
    same = same_tokens(a, b)
    case = _Case(scores, a, b, same, _anchors(a, b, same), rule, inlining)
    fixed = rule.score * scores.corrected
    for kind in MENTIONS:
        _add(fixed, kind, evidence[kind], rule)
    calls = {"callees": (call_matrix(a.calls), call_matrix(b.calls))}
    calls["callers"] = (sparse.csr_array(calls["callees"][0].T), sparse.csr_array(calls["callees"][1].T))
    evidence |= {kind: sparse.csr_array(fixed.shape, dtype=np.float32) for kind in NEIGHBOURS}
    pairs = case.settle(fixed, evidence)
    for _ in range(rounds):
        matched = sparse.csr_array(
            (pairs.confidence.astype(np.float32), (pairs.rows, pairs.columns)), shape=fixed.shape
        )
        for kind, (first, second) in calls.items():
            evidence[kind] = neighbour_agreement(first, second, matched)
        evidence["place"] = place_agreement(pairs.rows, pairs.columns, pairs.confidence, (len(a), len(b)))
        utilities = fixed.copy()
        for kind in NEIGHBOURS:
            _add(utilities, kind, evidence[kind], rule)
        before = pairs
        pairs = case.settle(utilities, evidence)
        if np.array_equal(before.rows, pairs.rows) and np.array_equal(before.columns, pairs.columns):
            break
    return replace(pairs, confidence=np.where(_of_one_kind(a, b, pairs), pairs.confidence, 0.0))


def _of_one_kind(a: Side, b: Side, pairs: Pairs) -> NDArray[np.bool_]:
    """Which pairs are not of start-up code and something else.

    A few instructions that are alike, and no caller: so is much of a C library that was linked in, and the rule, which
    judges such code by the calls of the whole file, is sure of it.
    """
    found = zip(pairs.rows.tolist(), pairs.columns.tolist(), strict=True)
    return np.array([(i in a.stubs) == (j in b.stubs) for i, j in found], dtype=bool)


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


@dataclass(frozen=True)
class _Case:
    """What every assignment of two files has in common.

    Args:
        scores: Of all pairs.
        a: File A.
        b: File B.
        same: 1 where tokens are equal.
        anchors: Rows and columns of the pairs that stand from the start.
        rule: What each of them is worth.
        inlining: Tells what is inlined.
    """

    scores: Scores
    a: Side
    b: Side
    same: sparse.csr_array
    anchors: tuple[NDArray[np.int64], NDArray[np.int64]]
    rule: Rule
    inlining: Inlining | None

    def settle(self, utilities: NDArray[np.float32], evidence: dict[str, sparse.csr_array]) -> Pairs:
        """Assign, and say how sure each pair is."""
        utilities[self.anchors] += _ANCHOR
        rows, columns = assign(utilities)
        # Anchored or not, a pair is judged by what it is worth itself.
        utilities[self.anchors] -= _ANCHOR
        features = self.features(utilities, rows, columns)
        features[:, _CALLERS:] = self.surroundings(rows, columns, evidence)
        rows, columns, features = self.with_callers(rows, columns, features)
        features[:, _CALLERS:] = self.surroundings(rows, columns, evidence)
        features[:, _AGREEMENT], related = self.agreements(rows, columns, features[:, _LIKENESS])
        return Pairs(rows, columns, features, self.rule.confidence(features), dict(evidence), related)

    def agreements(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], likeness: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], float | None]:
        """The agreement of calls that each pair is judged by: see :mod:`weft.bcsd.matching.pairs.relation`."""
        return agreements(self.a, self.b, rows, columns, likeness, self.rule.related)

    def with_callers(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], features: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The pairs with those of inlined functions handed to the callers, and what then tells of them."""
        inlining = self.inlining
        if inlining is None or not (inlining.of_a or inlining.of_b):
            return rows, columns, features
        ours, theirs = (columns, rows) if inlining.of_b else (rows, columns)
        other = self.a if inlining.of_b else self.b
        plain = self.scores.plain.T if inlining.of_b else self.scores.plain
        confidence = self.rule.confidence(features)
        handed = inlining.hand_over(ours, theirs, confidence, features[:, _LIKENESS], plain)
        ours, features = ours.copy(), features.copy()
        kept = ~np.isin(ours, [one.caller for one in handed])
        for one in handed:
            ours[one.pair] = one.caller
            kept[one.pair] = True
            lengths = np.log2([one.instructions, max(int(other.num_instructions[theirs[one.pair]]), 1)])
            features[one.pair, _SIZE] = lengths.min()
            features[one.pair, _LENGTHS] = np.ptp(lengths)
            features[one.pair, _LIKENESS] = one.likeness
            features[one.pair, _HANDED] = 1.0
        rows, columns = (theirs, ours) if inlining.of_b else (ours, theirs)
        order = np.argsort(rows[kept], kind="stable")
        return rows[kept][order], columns[kept][order], features[kept][order]

    def features(
        self, utilities: NDArray[np.float32], rows: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The features of pairs, ``(pairs, len(FEATURES))``: see :class:`weft.bcsd.matching.rule.Rule`.

        Those of :meth:`surroundings` are 0 still.
        """
        margin = margins(utilities, rows, columns)
        first = np.log2(np.maximum(self.a.num_instructions[rows], 1))
        second = np.log2(np.maximum(self.b.num_instructions[columns], 1))
        plain, corrected = self.scores
        likeness = plain[rows, columns].astype(np.float64)
        of_row, of_column = corrected.argmax(axis=1), corrected.argmax(axis=0)
        return np.stack(
            [
                np.log1p(np.maximum(margin, 0)),
                np.minimum(margin, 0),
                np.minimum(first, second),
                np.asarray(self.same[rows, columns], dtype=np.float64).reshape(-1),
                np.abs(first - second),
                (of_row[rows] == columns) & (of_column[columns] == rows),
                likeness,
                self.agreements(rows, columns, likeness)[0],
                np.zeros(len(rows)),
                np.full(len(rows), float(self.a.architecture != self.b.architecture)),
                *np.zeros((len(FEATURES) - _CALLERS, len(rows))),
            ],
            axis=1,
        )

    def surroundings(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], evidence: dict[str, sparse.csr_array]
    ) -> NDArray[np.float64]:
        """The features of pairs that tell of what calls them and lies around them, ``(pairs, 4)``."""
        callers, place = (
            np.asarray(evidence[kind][rows, columns], dtype=np.float64).reshape(-1)
            for kind in ("callers", "place")
        )
        first, second = (
            np.array([len(found) for found in side.callers], dtype=np.int64)[chosen]
            for side, chosen in ((self.a, rows), (self.b, columns))
        )
        uneven = np.abs(np.log2(1 + first) - np.log2(1 + second))
        return np.stack([callers, (first + second > 0).astype(np.float64), uneven, place], axis=1)


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
