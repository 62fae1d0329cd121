"""What lies around two functions: as its formula says it, and what it is worth where nothing else tells them apart."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.matching.pairs.pairing import pair
from weft.bcsd.matching.pairs.place import FADING, NEAREST, order_kept, place_agreement
from weft.bcsd.matching.pairs.seen import Scores
from weft.bcsd.matching.rule import DEFAULT_RULE

RULE = replace(DEFAULT_RULE, floor=0.0)
EVERY = np.arange(20)
SURE = np.ones(20)


def by_hand(rows, columns, confidence, shape, kept):
    partner, sure = dict(zip(rows, columns, strict=True)), dict(zip(rows, confidence, strict=True))
    squares = sum(FADING ** (2 * step) for step in range(NEAREST))
    found = np.zeros(shape)
    for i in range(shape[0]):
        for j in range(shape[1]):
            for ahead in (False, True):
                mine = [row for row in sorted(rows) if (row > i if ahead else row < i)]
                theirs = [column for column in sorted(columns) if (column > j if ahead else column < j)]
                mine, theirs = (
                    found[:NEAREST] if ahead else found[::-1][:NEAREST] for found in (mine, theirs)
                )
                for d, row in enumerate(mine):
                    if partner[row] in theirs:
                        weight = FADING ** (d + theirs.index(partner[row]))
                        found[i, j] += kept / 2 * weight / squares * sure[row]
    return found


def test_it_is_what_the_formula_says():
    draw = np.random.default_rng(0)
    rows = np.sort(draw.permutation(25)[:18])
    columns = np.sort(draw.permutation(22)[:18])
    columns[3:6] = columns[[5, 3, 4]]
    confidence = draw.random(18)
    found = place_agreement(rows, columns, confidence, (25, 22)).toarray()
    assert order_kept(rows, columns, confidence) > 0.25
    wanted = by_hand(rows.tolist(), columns.tolist(), confidence.tolist(), (25, 22), 1.0)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert 0 <= found.min() < found.max() <= 1


def test_a_function_between_partners_agrees_and_what_is_left_out_moves_nothing():
    rows = np.delete(EVERY, [9, 10])
    # A's function 9 is not in B at all; its 10 lies at B's 9.
    columns = np.where(rows > 10, rows - 1, rows)
    found = place_agreement(rows, columns, SURE[rows], (20, 19)).toarray()
    assert found[10, 9] == pytest.approx(1.0, abs=1e-5)
    assert found[10].argmax() == 9
    assert found[10, 8] < found[10, 9] > found[10, 10]


def test_files_that_keep_no_order_say_nothing():
    reverse = EVERY[::-1].copy()
    assert order_kept(EVERY, EVERY, SURE) == 1
    assert order_kept(EVERY, reverse, SURE) == 0
    assert place_agreement(EVERY, reverse, SURE, (20, 20)).nnz == 0
    assert order_kept(EVERY[:0], EVERY[:0], SURE[:0]) == 0
    # Five of the nineteen steps are kept where the rest runs backwards.
    some = np.concatenate([EVERY[:6], EVERY[6:][::-1]])
    assert order_kept(EVERY, some, SURE) == pytest.approx(5 / 19)
    few = np.concatenate([EVERY[:3], EVERY[3:][::-1]])
    wanted = by_hand(
        EVERY.tolist(), few.tolist(), SURE.tolist(), (20, 20), order_kept(EVERY, few, SURE) / 0.25
    )
    np.testing.assert_allclose(place_agreement(EVERY, few, SURE, (20, 20)).toarray(), wanted, atol=1e-6)


@dataclass(frozen=True)
class Lying:
    """As much of a file as pairing looks at."""

    table: pa.Table
    num_instructions: np.ndarray
    stubs = frozenset()

    def __len__(self):
        return self.table.num_rows

    def __getattr__(self, name):
        if name in ("calls", "callers", "imports", "constants", "strings"):
            return [[] for _ in range(len(self))]
        raise AttributeError(name)

    @property
    def architecture(self):
        return "x86_64"


def lying(name):
    table = pa.table({"token_digest": [f"{name}{row}" for row in EVERY]})
    return Lying(table, np.full(20, 30))


def test_twins_are_told_apart_by_their_place():
    scores = np.full((20, 20), -0.5, np.float32)
    scores[EVERY, EVERY] = 0.0
    # Four of a kind, each nearer to the wrong one by a hair.
    kind = np.array([4, 8, 12, 16])
    scores[np.ix_(kind, kind)] = 0.0
    scores[kind, np.roll(kind, 1)] = 0.01
    alone = pair(
        Scores(scores, scores), lying("a"), lying("b"), replace(RULE, evidence=(*RULE.evidence[:5], 0.0))
    )
    assert alone.columns[kind].tolist() == np.roll(kind, 1).tolist()
    found = pair(Scores(scores, scores), lying("a"), lying("b"), RULE)
    assert found.columns.tolist() == EVERY.tolist()
