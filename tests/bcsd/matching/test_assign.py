"""One-to-one pairs: the exact assignment is the best one, the greedy one is one-to-one and near it."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from weft.bcsd.matching.pairs import assign as module
from weft.bcsd.matching.pairs.assign import assign, chances, greedy
from weft.bcsd.matching.pairs.pairing import margins


@settings(deadline=None, max_examples=40)
@given(
    arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(4, 5)), elements=st.floats(-1, 1, width=16))
)
def test_the_exact_assignment_is_the_best(utilities):
    rows, columns = assign(utilities)
    assert rows.tolist() == list(range(len(utilities)))
    assert len(set(columns.tolist())) == len(columns)
    expected = chances(utilities)
    best = max(
        sum(expected[row, column] for row, column in enumerate(chosen))
        for chosen in permutations(range(utilities.shape[1]), len(utilities))
    )
    assert expected[rows, columns].sum() == pytest.approx(best, abs=1e-9)


def test_a_chance_is_that_of_a_pair_among_its_rivals():
    utilities = np.array([[3.0, 1.0, 0.0], [2.0, 1000.0, -5.0]], dtype=np.float32)
    power = np.exp(utilities[0, :].astype(float) / 2)
    expected = power[0] / (power.sum() + np.exp(1.0))
    found = chances(utilities)
    assert found[0, 0] == pytest.approx(expected)
    assert found[1, 1] == pytest.approx(1.0)
    assert found[0, 1] < 1e-200
    assert chances(np.zeros((1, 1), np.float32)).tolist() == [[1.0]]


def test_a_function_without_a_partner_takes_no_right_one_away():
    # The second row has no partner; whichever pair is kept, the other one is as good as none.
    utilities = np.array([[8.0, -3.0], [7.5, -12.0]], dtype=np.float32)
    assert utilities[[0, 1], [1, 0]].sum() > utilities[[0, 1], [0, 1]].sum()
    rows, columns = assign(utilities)
    assert dict(zip(rows.tolist(), columns.tolist(), strict=True))[0] == 0


def test_greedy_takes_the_best_remaining_pair_and_looks_at_few():
    utilities = np.array([[0.9, 0.8, 0.0], [0.85, 0.1, 0.0], [0.2, 0.1, 0.0]], dtype=np.float32)
    rows, columns = greedy(utilities, candidates=3)
    assert dict(zip(rows.tolist(), columns.tolist(), strict=True)) == {0: 0, 1: 1, 2: 2}
    rows, columns = greedy(utilities, candidates=1)
    assert dict(zip(rows.tolist(), columns.tolist(), strict=True)) == {0: 0}


def test_greedy_ties_go_to_the_first_row_and_column():
    rows, columns = greedy(np.zeros((2, 3), dtype=np.float32))
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [0, 1])


def test_large_problems_are_greedy(monkeypatch):
    utilities = np.random.default_rng(0).normal(size=(30, 40)).astype(np.float32)
    exact = chances(utilities)[assign(utilities)].sum()
    monkeypatch.setattr(module, "EXACT_CELLS", 10)
    rows, columns = assign(utilities)
    assert len(set(columns.tolist())) == len(columns) == len(rows) == 30
    assert 0.8 * exact < chances(utilities)[rows, columns].sum() <= exact


def test_margins_look_along_row_and_column():
    utilities = np.array([[3.0, 1.0, 2.5], [2.0, 5.0, 0.0]], dtype=np.float32)
    found = margins(utilities, np.array([0, 1]), np.array([0, 1]))
    assert found.tolist() == [0.5, 3.0]
    # A second best has a rival above it; a pair alone was compared with nothing.
    assert margins(utilities, np.array([0]), np.array([2])).tolist() == [-0.5]
    assert margins(utilities[:1, :1], np.array([0]), np.array([0])).tolist() == [0.0]


def test_a_rival_in_the_column_counts_as_much_as_one_in_the_row():
    # The second row would rather have the first column too.
    utilities = np.array([[3.0, 0.0], [2.8, 1.0]], dtype=np.float32)
    found = margins(utilities, np.array([0, 1]), np.array([0, 1]))
    np.testing.assert_allclose(found, [0.2, -1.8], atol=1e-6)
