"""A function that the other file holds inside its caller: the pair is the caller's."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from weft.bcsd.matching.pairs import inlined as module
from weft.bcsd.matching.pairs.inlined import Inlining
from weft.bcsd.matching.pairs.pairing import pair
from weft.bcsd.matching.pairs.seen import Seen, score
from weft.bcsd.matching.rule import DEFAULT_RULE, FEATURES
from weft.bcsd.represent.rows import Rows
from weft.bcsd.use.score import ScoreWeights

WEIGHTS = ScoreWeights(lexical=1.0, hubness=0.0, neighbours=1, operations=0.0)


@dataclass(frozen=True)
class Side:
    """As much of a file as pairing looks at."""

    table: pa.Table
    calls: list
    num_instructions: np.ndarray
    imports: list
    constants: list
    strings: list
    stubs = frozenset()

    def __len__(self):
        return self.table.num_rows

    @property
    def callers(self):
        return [
            [row for row, called in enumerate(self.calls) if callee in called] for callee in range(len(self))
        ]

    @property
    def architecture(self):
        return "x86_64"


def side(name, calls, lengths):
    nothing = [[] for _ in calls]
    table = pa.table({"token_digest": [f"{name}{row}" for row in range(len(calls))]})
    return Side(table, calls, np.array(lengths), nothing, nothing, nothing)


def seen(sets, width=12):
    """Functions as sets of tokens of equal weight, which their embeddings hold too."""
    rows = np.zeros((len(sets), width), np.float32)
    for row, tokens in enumerate(sets):
        rows[row, sorted(tokens)] = 1 / np.sqrt(len(tokens))
    nothing = Rows.alone(sparse.csr_matrix((len(sets), width), dtype=np.float32))
    return Seen(rows, Rows.alone(sparse.csr_matrix(rows)), nothing)


# 0 calls 1, which B has inlined: B's 0 does what both do, and more of what 1 does.
A = ({0, 1}, {2, 3, 4, 5, 6}, {7, 8}, {9, 10, 11})
B = ({0, 1, 2, 3, 4, 5, 6}, {7, 8}, {9, 10, 11})


@pytest.fixture
def files():
    a, b = side("a", [[1], [], [], []], [4, 10, 4, 6]), side("b", [[], [], []], [14, 4, 6])
    return a, b, seen(A), seen(B)


def test_the_pair_of_an_inlined_function_is_its_callers(files):
    a, b, of_a, of_b = files
    scores = score(of_a, of_b, WEIGHTS)
    apart = pair(scores, a, b, DEFAULT_RULE)
    assert dict(zip(apart.rows.tolist(), apart.columns.tolist(), strict=True))[1] == 0
    found = pair(scores, a, b, DEFAULT_RULE, inlining=Inlining(a, b, (of_a, of_b), WEIGHTS))
    assert dict(zip(found.rows.tolist(), found.columns.tolist(), strict=True)) == {0: 0, 2: 1, 3: 2}
    named = dict(zip(FEATURES, found.features.T, strict=True))
    assert named["handed"].tolist() == [1.0, 0.0, 0.0]
    assert named["likeness"][0] == pytest.approx(
        (_cosine(4 * of_a[0][0] + 10 * of_a[0][1], of_b[0][0]) + 1) / 2
    )
    assert 2 ** named["size"][0] == pytest.approx(14)
    assert named["lengths"][0] == 0


def test_it_is_the_same_the_other_way_round(files):
    a, b, of_a, of_b = files
    scores = score(of_b, of_a, WEIGHTS)
    found = pair(scores, b, a, DEFAULT_RULE, inlining=Inlining(b, a, (of_b, of_a), WEIGHTS))
    assert dict(zip(found.rows.tolist(), found.columns.tolist(), strict=True)) == {0: 0, 1: 2, 2: 3}
    assert found.features[:, FEATURES.index("handed")].tolist() == [1.0, 0.0, 0.0]


def test_files_of_as_many_functions_inline_alike(files, monkeypatch):
    a, b, of_a, of_b = files
    monkeypatch.setattr(module, "UNEQUAL", 2.0)
    inlining = Inlining(a, b, (of_a, of_b), WEIGHTS)
    assert not inlining.of_a
    assert not inlining.of_b
    found = pair(score(of_a, of_b, WEIGHTS), a, b, DEFAULT_RULE, inlining=inlining)
    assert 1 in found.rows


def hand_over(files, calls=None, sure=(0.9, 0.0), weights=WEIGHTS):
    a, b, of_a, of_b = files
    a = a if calls is None else replace(a, calls=calls)
    inlining = Inlining(a, b, (of_a, of_b), weights)
    alike = score(of_a, of_b, weights).plain
    rows, columns = np.array([1, 0]), np.array([0, 1])
    return inlining.hand_over(rows, columns, np.array(sure), alike[rows, columns].astype(float), alike)


def test_where_callees_are_known_a_callers_own_score_decides(files):
    a, b, of_a, of_b = files
    known = [
        one._replace(words=replace(one.words, known=np.ones(len(one.words), bool))) for one in (of_a, of_b)
    ]
    inlining = Inlining(a, b, (known[0], known[1]), WEIGHTS)
    alike = score(of_a, of_b, WEIGHTS).plain.copy()
    rows, columns = np.array([1, 0]), np.array([0, 1])
    for others, handed in ((alike[1, 0] - 0.02, [(0, 0)]), (alike[1, 0] - 0.04, [])):
        alike[0, 0] = others
        asked = rows, columns, np.array([0.9, 0.0]), alike[rows, columns].astype(float), alike
        found = inlining.hand_over(*asked)
        assert [(one.pair, one.caller) for one in found] == handed
        assert all(one.likeness == pytest.approx(others) for one in found)


def test_a_caller_that_is_sure_of_another_keeps_it(files):
    assert [(one.pair, one.caller, one.instructions) for one in hand_over(files)] == [(0, 0, 14)]
    assert hand_over(files, sure=(0.9, module.FREE)) == []


def test_a_function_that_many_call_must_be_told_more_clearly(files, monkeypatch):
    monkeypatch.setattr(module, "_EACH", 0.5)
    assert hand_over(files)
    assert hand_over(files, [[1], [], [1], []]) == []


def test_a_function_that_calls_itself_is_no_caller_of_its_own(files):
    assert hand_over(files, [[], [1], [], []]) == []


def test_the_union_of_two_rows_has_the_weights_of_both():
    draw = np.random.default_rng(3)
    idf = draw.uniform(1, 5, 40)
    sets = [draw.random(40) < 0.4 for _ in range(3)]
    rows = np.array([np.where(there, idf, 0) for there in sets])
    unit = sparse.csr_matrix((rows / np.linalg.norm(rows, axis=1)[:, None]).astype(np.float32))
    expected = _cosine(np.where(sets[0] | sets[1], idf, 0), rows[2])
    assert module._shared(unit, 0, 1, unit, 2) == pytest.approx(expected, abs=1e-6)
    nothing = sparse.csr_matrix((3, 40), dtype=np.float32)
    assert module._shared(nothing, 0, 1, unit, 2) == 0.0


def _cosine(first, second):
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
