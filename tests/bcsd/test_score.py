"""The hybrid score against loops that read like its equation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from weft.bcsd.represent.rows import Rows
from weft.bcsd.use.score import ScoreWeights, hybrid, with_operations
from weft.errors import ConfigError, ShapeError


def alone(rows: np.ndarray) -> Rows:
    return Rows.alone(sparse.csr_matrix(rows))


def unit(seed: int, rows: int, width: int) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def by_loops(queries, base, ql, bl, weights: ScoreWeights) -> np.ndarray:
    s = np.zeros((len(queries), len(base)))
    for i in range(len(queries)):
        for j in range(len(base)):
            s[i, j] = (queries[i] @ base[j] + weights.lexical * (ql[i] @ bl[j])) / (1 + weights.lexical)
    k = weights.neighbours
    out = s.copy()
    for i in range(len(queries)):
        for j in range(len(base)):
            r_i = np.sort(s[i])[::-1][:k].mean()
            r_j = np.sort(s[:, j])[::-1][:k].mean() if len(queries) >= k else 0.0
            out[i, j] = s[i, j] - weights.hubness * (r_i + r_j) / 2
    return out


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 7),
    st.integers(1, 7),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_it_equals_its_equation(rows, columns, lexical, hubness, neighbours, seed) -> None:
    weights = ScoreWeights(lexical, hubness, neighbours)
    q, b = unit(seed, rows, 5), unit(seed + 1, columns, 5)
    ql, bl = unit(seed + 2, rows, 4), unit(seed + 3, columns, 4)
    got = hybrid(q, b, alone(ql), alone(bl), weights)
    np.testing.assert_allclose(got, by_loops(q, b, ql, bl, weights), atol=1e-5)


def test_a_hub_loses_its_advantage() -> None:
    # Base 2 is near to every query, each of which has its own true partner slightly below it.
    queries = np.eye(3, 4, dtype=np.float32)
    hub = np.full(4, 0.5, dtype=np.float32)
    partners = 0.45 * np.eye(3, 4, dtype=np.float32)
    partners[:, 3] = np.sqrt(1 - 0.45**2)
    base = np.vstack([partners, hub]).astype(np.float32)
    plain = hybrid(queries, base, None, None, ScoreWeights(0.0, 0.0, 2))
    assert plain.argmax(axis=1).tolist() == [3, 3, 3]
    corrected = hybrid(queries, base, None, None, ScoreWeights(0.0, 1.0, 2))
    assert corrected.argmax(axis=1).tolist() == [0, 1, 2]


def test_without_lexical_rows_it_is_the_cosine() -> None:
    q, b = unit(0, 3, 5), unit(1, 4, 5)
    np.testing.assert_allclose(hybrid(q, b, None, None, ScoreWeights(0.3, 0.0, 5)), q @ b.T, atol=1e-6)


@pytest.mark.parametrize("field", [{"lexical": -0.1}, {"hubness": float("nan")}, {"neighbours": 0}])
def test_wrong_weights_are_named(field) -> None:
    with pytest.raises(ConfigError, match=next(iter(field))):
        ScoreWeights(**field)


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ShapeError, match="widths"):
        hybrid(unit(0, 2, 5), unit(0, 2, 4), None, None, ScoreWeights())
    with pytest.raises(ShapeError, match="3 lexical rows for 2"):
        hybrid(unit(0, 2, 5), unit(0, 2, 5), alone(unit(0, 3, 2)), None, ScoreWeights())


def test_operations_are_a_third_term_where_both_functions_were_lifted() -> None:
    draw = np.random.default_rng(0)
    scores = draw.random((3, 2)).astype(np.float32)
    queries = alone(np.array([[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]], np.float32))
    base = alone(np.array([[0.0, 1.0], [0.0, 0.0]], np.float32))
    weights = ScoreWeights(lexical=1.0, operations=2.0)
    found = with_operations(scores, queries, base, weights)
    expected = scores.copy()
    expected[0, 0] = (2 * scores[0, 0] + 2 * 0.0) / 4
    expected[2, 0] = (2 * scores[2, 0] + 2 * 0.8) / 4
    assert np.allclose(found, expected)
    assert with_operations(scores, queries, base, ScoreWeights(operations=0.0)) is scores
    nothing = alone(np.zeros((3, 2), np.float32))
    assert with_operations(scores, nothing, base, weights) is scores
