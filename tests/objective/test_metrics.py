import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from weft.errors import ConfigError, InputError, NonFiniteError, ShapeError
from weft.objective.metrics import (
    average_precision,
    bootstrap_interval,
    by_size,
    expected_calibration_error,
    hit_at_k,
    mean_average_precision,
    mean_reciprocal_rank,
    precision_recall_f1,
    ranks,
    recall_at_k,
    roc_auc,
    threshold_curve,
)

# A coarse grid, negative half of the time: ties in nearly every example.
SCORES = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0])


@st.composite
def rankings(draw):
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 8)))
    scores = draw(hnp.arrays(np.float64, shape, elements=SCORES))
    relevant = draw(hnp.arrays(np.bool_, shape))
    ignored = draw(hnp.arrays(np.bool_, shape))
    for row in range(shape[0]):
        column = draw(st.integers(0, shape[1] - 1))
        relevant[row, column], ignored[row, column] = True, False
    return scores, relevant, ignored


def ranks_by_loop(scores, relevant, ignored, charge):
    """Per query, the rank of each relevant item, best first."""
    found = []
    for s, r, g in zip(scores.tolist(), relevant.tolist(), ignored.tolist(), strict=True):
        mine = sorted((s[j] for j in range(len(s)) if r[j] and not g[j]), reverse=True)
        others = [s[j] for j in range(len(s)) if not r[j] and not g[j]]
        of_query = []
        for place, score in enumerate(mine, 1):
            above = sum(other > score for other in others)
            tied = sum(other == score for other in others)
            of_query.append(place + above + charge * tied)
        found.append(of_query)
    return found


@settings(deadline=None, max_examples=100)
@given(rankings(), st.integers(1, 8))
def test_ranking_metrics_equal_brute_force(ranking, k):
    scores, relevant, ignored = ranking
    rank = ranks(scores, relevant, ignored)
    for ties, charge in (("optimistic", 0.0), ("realistic", 0.5), ("pessimistic", 1.0)):
        expected = ranks_by_loop(scores, relevant, ignored, charge)
        firsts = [of_query[0] for of_query in expected]
        assert getattr(rank, ties).tolist() == firsts
        recalls = [sum(r <= k for r in of_query) / len(of_query) for of_query in expected]
        assert recall_at_k(scores, relevant, k, ignored, ties) == pytest.approx(sum(recalls) / len(recalls))
        precisions = [
            sum(place / r for place, r in enumerate(of_query, 1)) / len(of_query) for of_query in expected
        ]
        assert average_precision(scores, relevant, ignored, ties) == pytest.approx(precisions)
        assert mean_average_precision(scores, relevant, ignored, ties) == pytest.approx(np.mean(precisions))
        assert hit_at_k(getattr(rank, ties), k) == pytest.approx(np.mean([first <= k for first in firsts]))
        assert mean_reciprocal_rank(getattr(rank, ties)) == pytest.approx(
            np.mean([1 / first for first in firsts])
        )


def test_without_ties_average_precision_is_the_textbooks():
    # Relevant at places 1, 3 and 6.
    scores = np.array([[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]]) - 10
    relevant = np.array([[True, False, True, False, False, True]])
    assert mean_average_precision(scores, relevant) == pytest.approx((1 / 1 + 2 / 3 + 3 / 6) / 3)


def test_a_model_that_says_nothing_lands_in_the_middle():
    rank = ranks(np.zeros((3, 101)), np.array([0, 50, 100]))
    assert rank.optimistic.tolist() == [1, 1, 1]
    assert rank.realistic.tolist() == [51, 51, 51]
    assert rank.pessimistic.tolist() == [101, 101, 101]
    assert hit_at_k(rank.realistic, 1) == 0.0


def test_negative_scores_count_like_others():
    rank = ranks([[-0.9, -0.2, -0.5]], np.array([2]))
    assert mean_reciprocal_rank(rank.realistic) == 0.5


def test_an_item_that_is_no_candidate_may_be_minus_infinity():
    rank = ranks([[-np.inf, -1.0, -np.inf]], np.array([1]))
    assert rank.pessimistic.tolist() == [1]
    assert ranks([[-np.inf, -1.0, -np.inf]], np.array([0])).realistic.tolist() == [2.5]


@settings(deadline=None, max_examples=80)
@given(st.lists(st.tuples(SCORES, st.booleans()), min_size=1, max_size=20), st.integers(0, 3))
def test_threshold_curve_equals_brute_force(items, missed):
    scores, labels = np.array([s for s, _ in items]), np.array([y for _, y in items])
    if not labels.any() and not missed:
        with pytest.raises(InputError):
            threshold_curve(scores, labels)
        return
    curve = threshold_curve(scores, labels, positives=int(labels.sum()) + missed)
    assert curve.thresholds.tolist() == sorted(set(scores.tolist()), reverse=True)
    for index, threshold in enumerate(curve.thresholds):
        taken = scores >= threshold
        right = int((taken & labels).sum())
        p, r = right / taken.sum(), right / (labels.sum() + missed)
        f = 2 * p * r / (p + r) if p + r else 0.0
        found = (curve.precision[index], curve.recall[index], curve.f1[index])
        assert found == pytest.approx((p, r, f))
        assert precision_recall_f1(right, int(taken.sum()), int(labels.sum()) + missed) == pytest.approx(
            (p, r, f)
        )
    assert curve.f1[curve.best] == curve.f1.max()


def test_f1_of_nothing_is_zero():
    assert precision_recall_f1(0, 0, 0) == (0.0, 0.0, 0.0)
    assert precision_recall_f1(0, 0, 5) == (0.0, 0.0, 0.0)
    with pytest.raises(InputError, match="3 right of 2 taken"):
        precision_recall_f1(3, 2, 5)


@settings(deadline=None, max_examples=80)
@given(st.lists(SCORES, min_size=1, max_size=10), st.lists(SCORES, min_size=1, max_size=10))
def test_roc_auc_equals_all_pairs(positives, negatives):
    wins = sum(1.0 if p > n else 0.5 if p == n else 0.0 for p in positives for n in negatives)
    labels = [1] * len(positives) + [0] * len(negatives)
    assert roc_auc(positives + negatives, labels) == pytest.approx(wins / len(positives) / len(negatives))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.35, 0.5, 0.99, 1.0]), st.booleans()),
        min_size=1,
        max_size=20,
    ),
    st.integers(1, 20),
)
def test_calibration_error_equals_brute_force(items, bins):
    total = 0.0
    for index in range(bins):
        inside = [(c, y) for c, y in items if min(max(math.ceil(c * bins) - 1, 0), bins - 1) == index]
        if inside:
            accuracy = sum(y for _, y in inside) / len(inside)
            confidence = sum(c for c, _ in inside) / len(inside)
            total += len(inside) / len(items) * abs(accuracy - confidence)
    found = expected_calibration_error([c for c, _ in items], [y for _, y in items], bins)
    assert found == pytest.approx(total, abs=1e-12)


def test_a_confidence_between_two_bins_is_in_the_lower_one():
    assert expected_calibration_error([0.5, 0.6], [1, 0], bins=2) == pytest.approx((0.5 + 0.6) / 2)
    assert expected_calibration_error([0.4, 0.5], [1, 0], bins=2) == pytest.approx((0.6 - 0.5) / 2)


def test_bootstrap_covers_the_mean_and_narrows():
    draw = np.random.default_rng(0)
    inside = 0
    for trial in range(60):
        interval = bootstrap_interval(draw.normal(1.0, 1.0, 50), resamples=300, seed=trial)
        inside += interval.low <= 1.0 <= interval.high
    assert inside >= 51  # 95 % of 60 is 57; five standard errors would be 48.6
    small, large = (bootstrap_interval(draw.normal(0, 1, n)) for n in (30, 3000))
    assert large.high - large.low < (small.high - small.low) / 4
    assert bootstrap_interval([1.0, 2.0], seed=3) == bootstrap_interval([1.0, 2.0], seed=3)


def test_bootstrap_by_group_is_wider_where_groups_agree():
    values, groups = np.repeat([0.0, 1.0, 0.0, 1.0, 1.0], 40), np.repeat(list("abcde"), 40)
    items, clusters = bootstrap_interval(values), bootstrap_interval(values, groups=groups)
    assert items.estimate == clusters.estimate == pytest.approx(0.6)
    assert clusters.high - clusters.low > 3 * (items.high - items.low)


def test_bootstrap_of_another_statistic_and_of_rows():
    rows = np.stack([np.arange(50.0), np.ones(50)], axis=1)
    interval = bootstrap_interval(rows, lambda drawn: float(drawn[:, 0].max()))
    assert interval.estimate == 49.0
    assert interval.high <= 49.0


def test_by_size():
    buckets = by_size([1.0, 0.0, 0.5, 0.25], [2, 5, 15, 40], edges=[5, 16, 32, 33])
    assert [(b.label, b.count) for b in buckets] == [
        ("<5", 1),
        ("5–15", 2),
        ("16–31", 0),
        ("32", 0),
        ("≥33", 1),
    ]
    assert [buckets[0].mean, buckets[1].mean, buckets[4].mean] == [1.0, 0.25, 0.25]
    assert math.isnan(buckets[2].mean)


def test_bad_input_is_named():
    scores, relevant = np.zeros((2, 3)), np.ones((2, 3), dtype=bool)
    with pytest.raises(NonFiniteError, match="1 scores are NaN"):
        ranks([[np.nan, 1.0]], np.array([0]))
    with pytest.raises(InputError, match="query 1: no relevant item"):
        ranks(scores, np.array([[True, False, False], [False] * 3]))
    with pytest.raises(ShapeError, match=r"relevant is bool \(2, 2\), scores are \(2, 3\)"):
        ranks(scores, relevant[:, :2])
    with pytest.raises(ShapeError, match="relevant columns"):
        ranks(scores, np.array([0, 3]))
    with pytest.raises(ShapeError, match="scores are"):
        ranks(np.zeros((0, 3)), np.zeros((0, 3), dtype=bool))
    with pytest.raises(ConfigError, match="ties"):
        recall_at_k(scores, relevant, 1, ties="hopeful")  # type: ignore[arg-type] # the wrong value is the point
    with pytest.raises(ConfigError, match="k is 0; it must be at least 1"):
        hit_at_k([1.0], 0)
    with pytest.raises(InputError, match=r"rank of 0\.5"):
        hit_at_k([0.5], 1)
    with pytest.raises(ShapeError, match="ranks are"):
        mean_reciprocal_rank([])
    with pytest.raises(InputError, match="2 positives and 0 negatives"):
        roc_auc([1.0, 2.0], [1, 1])
    with pytest.raises(InputError, match="0 or 1"):
        roc_auc([1.0, 2.0], [1, 2])
    with pytest.raises(InputError, match="confidences from"):
        expected_calibration_error([1.5], [1])
    with pytest.raises(ShapeError, match=r"scores are \(2,\), labels are \(1,\)"):
        threshold_curve([1.0, 2.0], [1])
    with pytest.raises(InputError, match="positives is 1, 2 labels"):
        threshold_curve([1.0, 2.0], [1, 1], positives=1)
    with pytest.raises(InputError, match="no values"):
        bootstrap_interval([])
    with pytest.raises(ConfigError, match="level 1"):
        bootstrap_interval([1.0], level=1)
    with pytest.raises(ShapeError, match="groups"):
        bootstrap_interval([1.0], groups=["a", "b"])
    with pytest.raises(ConfigError, match="ascend"):
        by_size([1.0], [1], [3, 2])
    with pytest.raises(ShapeError, match="sizes"):
        by_size([1.0], [1, 2], [3])


def test_metrics_need_no_torch():
    import subprocess
    import sys

    code = "import sys, weft.objective.metrics, weft.platform.confidence; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
