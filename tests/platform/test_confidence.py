import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import CheckpointError, ConfigError, InputError, NonFiniteError, ShapeError
from weft.objective.metrics import expected_calibration_error
from weft.platform.confidence import (
    Calibration,
    Isotonic,
    Logistic,
    Temperature,
    fit_isotonic,
    fit_logistic,
    fit_temperature,
    threshold_at,
)


def nll(logits, labels, temperature):
    """Of the labels, and of two more that are drawn from all items and all classes alike."""
    z = np.asarray(logits) / temperature
    z = z - z.max(axis=1, keepdims=True)
    each = np.log(np.exp(z).sum(axis=1))[:, None] - z
    return float(each[np.arange(len(z)), labels].sum() + 2 * each.mean())


@pytest.mark.parametrize("true", [0.5, 1.0, 2.5])
def test_temperature_is_the_minimum_and_recovers_the_truth(true):
    draw = np.random.default_rng(0)
    logits = draw.normal(0, 2, (4000, 4))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([draw.choice(4, p=row) for row in p])
    fitted = fit_temperature(logits * true, labels)
    assert fitted.value == pytest.approx(true, rel=0.06)
    grid = np.exp(np.linspace(np.log(0.1), np.log(10), 400))
    assert nll(logits * true, labels, fitted.value) <= min(nll(logits * true, labels, t) for t in grid) + 1e-9
    few = fit_temperature(logits[:9], labels[:9]).value
    assert nll(logits[:9], labels[:9], few) <= min(nll(logits[:9], labels[:9], t) for t in grid) + 1e-9


def test_temperature_lowers_the_calibration_error_and_keeps_the_order():
    draw = np.random.default_rng(1)
    logits = draw.normal(0, 1, 3000)
    labels = (draw.random(3000) < 1 / (1 + np.exp(-logits))).astype(int)
    over_confident = logits * 3
    before = expected_calibration_error(Temperature(1.0)(over_confident), labels)
    after = expected_calibration_error(fit_temperature(over_confident, labels)(over_confident), labels)
    assert after < before / 3
    assert (
        np.argsort(fit_temperature(over_confident, labels)(over_confident)) == np.argsort(over_confident)
    ).all()


def test_one_logit_equals_two_classes():
    draw = np.random.default_rng(2)
    logits, labels = draw.normal(0, 2, 50), draw.integers(0, 2, 50)
    two = np.stack([np.zeros(50), logits], axis=1)
    assert fit_temperature(logits, labels) == fit_temperature(two, labels)
    assert Temperature(1.7)(logits) == pytest.approx(Temperature(1.7)(two)[:, 1])


@pytest.mark.parametrize("right", [1, 2, 24, 500])
def test_all_right_of_a_few_is_as_sure_as_the_rule_of_succession(right):
    logits, labels = np.tile([[9.0, 0.0], [0.0, 9.0]], (right, 1)), np.tile([0, 1], right)
    fitted = fit_temperature(logits, labels)
    n = 2 * right
    assert fitted(logits).max(axis=1) == pytest.approx((n + 1) / (n + 2))
    # What was fitted is not fitted again: a second look at the same answers leaves them as they are.
    assert fit_temperature(logits / fitted.value, labels).value == pytest.approx(1)


def test_temperature_ends_at_its_bound_where_wrong_answers_are_the_surer_ones():
    assert fit_temperature([[9.0, 0.0], [0.0, 9.0]], [1, 0]).value == pytest.approx(50)


def isotonic_by_min_max(scores, labels, weights):
    """f(s) = max over starts ≤ s of min over ends ≥ s of the weighted mean between them."""
    values = []
    for s in scores:
        best = -np.inf
        for start in sorted(set(scores[scores <= s])):
            worst = np.inf
            for end in sorted(set(scores[scores >= s])):
                inside = (scores >= start) & (scores <= end)
                worst = min(worst, np.average(labels[inside], weights=weights[inside]))
            best = max(best, worst)
        values.append(best)
    return np.array(values)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, 4.0]), st.booleans(), st.integers(1, 3)),
        min_size=1,
        max_size=14,
    )
)
def test_isotonic_equals_the_min_max_formula(items):
    scores, labels, weights = (np.array(column, dtype=np.float64) for column in zip(*items, strict=True))
    fitted = fit_isotonic(scores, labels, weights)
    assert fitted(scores) == pytest.approx(isotonic_by_min_max(scores, labels, weights), abs=1e-12)
    grid = fitted(np.linspace(-5, 5, 101))
    assert (np.diff(grid) >= 0).all()
    assert grid.min() >= 0
    assert grid.max() <= 1
    assert Isotonic.from_json(json.loads(json.dumps(fitted.to_json()))) == fitted


def test_isotonic_is_linear_between_knots_and_flat_outside():
    fitted = Isotonic((0.0, 1.0), (0.2, 0.8))
    assert fitted([-9.0, 0.5, 9.0, np.inf]) == pytest.approx([0.2, 0.5, 0.8, 0.8])


def test_one_class_of_labels_says_nothing_of_the_temperature():
    assert fit_temperature([[9.0, 0.0], [-2.0, 1.0]], [0, 0]) == Temperature(1.0)
    assert fit_temperature([3.0, -1.0], [1, 1]) == Temperature(1.0)


def test_one_class_of_labels_is_a_flat_isotonic_map():
    assert fit_isotonic([0.1, 0.5, 0.5, 0.9], [1, 1, 1, 1])([-1.0, 0.3, 2.0]).tolist() == [1.0] * 3
    assert fit_isotonic([0.7, 0.2], [0, 0])([0.0, 1.0]).tolist() == [0.0] * 2


def test_tied_scores_get_one_probability():
    fitted = fit_isotonic([0.5, 0.5, 0.5, 0.5, 0.9], [1, 0, 0, 1, 0])
    assert fitted([0.5, 0.9]).tolist() == [0.4, 0.4]
    assert fit_isotonic([0.5, 0.5], [1, 0], [3, 1])([0.5]).tolist() == [0.75]


def logistic_loss(intercept, coefficients, x, y, w, ridge):
    """As the docstring says it, one item after the other."""
    total = 0.0
    for row, right, weight in zip(x, y, w, strict=True):
        reach = intercept + sum(c * value for c, value in zip(coefficients, row, strict=True))
        total += weight * np.log1p(np.exp(-reach if right else reach))
    spread = sum((c * s) ** 2 for c, s in zip(coefficients, x.std(axis=0), strict=True))
    return total / sum(w) + ridge * spread


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 0.5])
def test_logistic_is_the_minimum_by_another_method(ridge):
    optimize = pytest.importorskip("scipy.optimize")
    draw = np.random.default_rng(3)
    # Features of very different scales, two of them nearly alike, and ties.
    x = draw.normal(0, 1, (60, 4)) * [1, 1000, 1e-3, 1] + [5, -3000, 0, 2]
    x[:, 3] = np.round(x[:, 0] + draw.normal(0, 0.1, 60), 1)
    y = draw.random(60) < 1 / (1 + np.exp(-(x[:, 0] - 5 + (x[:, 1] + 3000) / 700)))
    w = draw.integers(1, 4, 60) / 3
    fitted = fit_logistic(x, y, w, ridge)
    found = logistic_loss(fitted.intercept, fitted.coefficients, x, y, w, ridge)
    scale, middle = x.std(axis=0), x.mean(axis=0)

    def stretched(beta):
        coefficients = beta[1:] / scale
        return logistic_loss(beta[0] - coefficients @ middle, coefficients, x, y, w, ridge)

    other = optimize.minimize(stretched, np.zeros(5), tol=1e-12)
    assert found <= other.fun + 1e-9
    assert found == pytest.approx(other.fun, abs=1e-6)
    here = np.array([fitted.intercept + fitted.coefficients @ middle, *(fitted.coefficients * scale)])
    for step in np.vstack([np.eye(5), -np.eye(5)]) * 1e-3:
        assert stretched(here + step) > found


def test_logistic_recovers_the_truth_and_weights_count_as_copies():
    draw = np.random.default_rng(0)
    features = draw.standard_normal((4000, 3))
    truth = Logistic(-0.5, (2.0, 1.0, -0.5))
    right = draw.random(4000) < truth(features)
    fitted = fit_logistic(features[:2000], right[:2000])
    assert [fitted.intercept, *fitted.coefficients] == pytest.approx([-0.5, 2.0, 1.0, -0.5], abs=0.25)
    # A logistic regression with an intercept is right on average.
    assert fitted(features[:2000]).mean() == pytest.approx(right[:2000].mean(), abs=1e-9)
    few, answers = features[:30], right[:30]
    copies = np.repeat(np.arange(30), np.arange(30) % 3 + 1)
    doubled = fit_logistic(few, answers, np.arange(30) % 3 + 1, ridge=1e-12)
    copied = fit_logistic(few[copies], answers[copies], ridge=1e-12)
    assert [doubled.intercept, *doubled.coefficients] == pytest.approx(
        [copied.intercept, *copied.coefficients]
    )


def test_one_class_of_answers_is_a_flat_logistic_map():
    features = [[1.0, 2.0], [3.0, 5.0], [8.0, 1.0]]
    assert fit_logistic(features, [1, 1, 1])(features) == pytest.approx([4 / 5] * 3)
    assert fit_logistic(features, [0, 0, 0])([[9.0, -9.0]]) == pytest.approx([1 / 5])
    assert fit_logistic(features, [0.5, 0.5, 0.5])(features) == pytest.approx([0.5] * 3)
    assert fit_logistic(features, [0.25, 0.25, 0.25])([[0.0, 0.0]]) == pytest.approx([1.75 / 5])


def test_logistic_of_separable_and_flat_features_is_finite():
    fitted = fit_logistic([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0]], [0, 0, 1, 1])
    said = fitted([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0], [3.0, 7.0]])
    assert (said[:2] < 0.01).all()
    assert (said[2:] > 0.99).all()
    assert fitted.coefficients[1] == 0
    assert fitted([[1e9, 7.0], [-1e9, 7.0]]) == pytest.approx([1, 0], abs=1e-12)


EVERY_KIND = (Temperature(1.37), fit_isotonic([0.1, 0.4, 0.3], [0, 1, 1]), Logistic(-0.1, (1e-300, 2 / 3)))


@pytest.mark.parametrize("calibration", EVERY_KIND)
def test_json_keeps_every_bit(calibration):
    record = json.loads(json.dumps(calibration.to_json()))
    assert Calibration.from_json(record) == calibration
    assert type(calibration).from_json(record) == calibration
    for other in {type(one) for one in EVERY_KIND} - {type(calibration)}:
        with pytest.raises(
            CheckpointError, match=f"kind is '{calibration.kind}'; it must be one of {other.kind}"
        ):
            other.from_json(record)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"kind": "os.system"}',
        '{"kind": ["temperature"]}',
        '{"kind": "temperature"}',
        '{"kind": "temperature", "value": -1}',
        '{"kind": "temperature", "value": "warm"}',
        '{"kind": "temperature", "value": NaN}',
        '{"kind": "temperature", "value": 1' + "0" * 400 + "}",
        '{"kind": "temperature", "value": 1, "more": 2}',
        '{"kind": "isotonic", "scores": [1, 0], "probabilities": [0, 1]}',
        '{"kind": "isotonic", "scores": [0, 1], "probabilities": [0.5, 0.4]}',
        '{"kind": "isotonic", "scores": [0, 1], "probabilities": [0.5]}',
        '{"kind": "isotonic", "scores": 3, "probabilities": 4}',
        '{"kind": "isotonic", "scores": [], "probabilities": []}',
        '{"kind": "logistic", "intercept": 0}',
        '{"kind": "logistic", "intercept": Infinity, "coefficients": [1]}',
        '{"kind": "logistic", "intercept": 0, "coefficients": [[1]]}',
        '{"kind": "logistic", "intercept": 0, "coefficients": 1}',
    ],
)
def test_what_is_no_calibration_is_refused(text):
    with pytest.raises(CheckpointError, match="somewhere"):
        Calibration.from_json(json.loads(text), "somewhere")


NOTHING, PAIR = np.zeros((0, 2)), np.zeros((2, 2))


@pytest.mark.parametrize(
    ("fit", "error", "message"),
    [
        (lambda: fit_temperature(PAIR, [0, 1, 1]), ShapeError, r"logits are \(2, 2\), labels are \(3,\)"),
        (lambda: fit_temperature(NOTHING, []), ShapeError, r"logits are \(0, 2\)"),
        (lambda: fit_temperature([[np.inf, 0.0]], [0]), NonFiniteError, "a logit is not finite"),
        (lambda: fit_temperature(PAIR, [0, 2]), InputError, "labels from 0 to 2 for 2 classes"),
        (lambda: fit_isotonic([1.0, 2.0], [1.0]), ShapeError, r"inputs are \(2,\), labels \(1,\)"),
        (lambda: fit_isotonic([], []), ShapeError, "at least one"),
        (lambda: fit_isotonic([np.nan], [1.0]), NonFiniteError, "an input is not finite"),
        (lambda: fit_isotonic([1.0], [2.0]), InputError, r"\[0, 1\]"),
        (lambda: fit_isotonic([1.0], [np.nan]), InputError, r"\[0, 1\]"),
        (lambda: fit_isotonic([1.0], [1.0], [0.0]), InputError, "weights be positive"),
        (lambda: fit_logistic(PAIR, [0, 1, 1]), ShapeError, r"inputs are \(2, 2\), labels \(3,\)"),
        (lambda: fit_logistic(NOTHING, []), ShapeError, "at least one"),
        (lambda: fit_logistic([[np.nan], [0.0]], [0, 1]), NonFiniteError, "an input is not finite"),
        (lambda: fit_logistic(PAIR, [0, 1], [1.0, -1.0]), InputError, "weights be positive"),
        (lambda: fit_logistic(PAIR, [0, 1], ridge=0.0), ConfigError, "ridge is 0.0; it must be positive"),
        (lambda: Isotonic((0.0,), (0.5,))([np.nan]), NonFiniteError, "1 scores are NaN"),
        (lambda: Logistic(0.0, (1.0,))([[np.nan]]), NonFiniteError, "1 scores are NaN"),
        (lambda: Logistic(0.0, (1.0,))([[1.0, 2.0]]), ShapeError, r"features are \(1, 2\)"),
    ],
)
def test_bad_input_is_named(fit, error, message):
    with pytest.raises(error, match=message):
        fit()


def test_as_many_answers_as_keep_a_precision():
    confidences = [0.5, 1.0, 0.8, 0.8, 0.9]
    assert threshold_at(confidences, 0.9) == 0.9
    # The two of 0.8 come together or not at all: the mean of the first four is 0.875.
    assert threshold_at(confidences, 0.875) == 0.8
    assert threshold_at(confidences, 0.5) == 0.5
    assert threshold_at([0.3], 0.9) == float("inf")
    assert threshold_at([], 0.9) == float("inf")
    with pytest.raises(ConfigError, match="precision is 1"):
        threshold_at(confidences, 1.5)
