import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import CheckpointError, InputError, NonFiniteError, ShapeError
from weft.objective.calibration import (
    Isotonic,
    Temperature,
    fit_isotonic,
    fit_temperature,
    from_json,
    load_calibration,
    save_calibration,
    to_json,
)
from weft.objective.metrics import expected_calibration_error


def nll(logits, labels, temperature):
    z = np.asarray(logits) / temperature
    z = z - z.max(axis=1, keepdims=True)
    return float((np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(z)), labels]).mean())


@pytest.mark.parametrize("true", [0.5, 1.0, 2.5])
def test_temperature_is_the_minimum_and_recovers_the_truth(true):
    draw = np.random.default_rng(0)
    logits = draw.normal(0, 2, (4000, 4))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([draw.choice(4, p=row) for row in p])
    fitted = fit_temperature(logits * true, labels)
    assert fitted.value == pytest.approx(true, rel=0.06)
    grid = np.exp(np.linspace(np.log(0.1), np.log(10), 400))
    assert (
        nll(logits * true, labels, fitted.value) <= min(nll(logits * true, labels, t) for t in grid) + 1e-12
    )


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


def test_temperature_stays_in_bounds_where_the_best_is_none():
    assert fit_temperature([[9.0, 0.0], [0.0, 9.0]], [0, 1]).value == pytest.approx(0.02)
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
    assert from_json(json.loads(json.dumps(to_json(fitted)))) == fitted


def test_isotonic_is_linear_between_knots_and_flat_outside():
    fitted = Isotonic((0.0, 1.0), (0.2, 0.8))
    assert fitted([-9.0, 0.5, 9.0, np.inf]) == pytest.approx([0.2, 0.5, 0.8, 0.8])


def test_json_round_trip(tmp_path):
    for calibration in (Temperature(1.37), fit_isotonic([0.1, 0.4, 0.3], [0, 1, 1])):
        path = tmp_path / "calibration.json"
        save_calibration(calibration, path)
        assert load_calibration(path) == calibration
        assert [entry.name for entry in tmp_path.iterdir()] == ["calibration.json"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kind": "os.system"}',
        '{"kind": "temperature"}',
        '{"kind": "temperature", "value": -1}',
        '{"kind": "temperature", "value": "warm"}',
        '{"kind": "temperature", "value": NaN}',
        '{"kind": "temperature", "value": 1, "more": 2}',
        '{"kind": "isotonic", "scores": [1, 0], "probabilities": [0, 1]}',
        '{"kind": "isotonic", "scores": [0, 1], "probabilities": [0.5, 0.4]}',
        '{"kind": "isotonic", "scores": [0, 1], "probabilities": [0.5]}',
        '{"kind": "isotonic", "scores": 3, "probabilities": 4}',
        '{"kind": "isotonic", "scores": [], "probabilities": []}',
    ],
)
def test_what_is_no_calibration_is_refused(tmp_path, text):
    path = tmp_path / "calibration.json"
    path.write_text(text)
    with pytest.raises(CheckpointError, match=r"calibration\.json"):
        load_calibration(path)


def test_bad_input_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_calibration(tmp_path / "absent.json")
    with pytest.raises(CheckpointError, match="cannot save"):
        save_calibration(Temperature(1.0), tmp_path / "absent" / "c.json")
    with pytest.raises(ShapeError, match=r"logits are \(2, 2\), labels are \(3,\)"):
        fit_temperature(np.zeros((2, 2)), [0, 1, 1])
    with pytest.raises(NonFiniteError):
        fit_temperature([[np.inf, 0.0]], [0])
    with pytest.raises(InputError, match="labels from 0 to 2 for 2 classes"):
        fit_temperature(np.zeros((2, 2)), [0, 2])
    with pytest.raises(ShapeError):
        fit_isotonic([1.0, 2.0], [1.0])
    with pytest.raises(NonFiniteError):
        fit_isotonic([np.nan], [1.0])
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        fit_isotonic([1.0], [2.0])
    with pytest.raises(NonFiniteError):
        Isotonic((0.0,), (0.5,))([np.nan])
