"""Confidences of searches: stored beside a model, spread over hits, fitted to searches whose answers are known."""

import json

import numpy as np
import pytest

from weft.bcsd.presence.features import AGREEING, ALONE, COMPANY, CONTEST, Lead
from weft.bcsd.presence.fit import fit, judged, measure, weights_of
from weft.bcsd.presence.model import (
    TOGETHER,
    Fitted,
    Presence,
    load_presence,
    presence_of,
    save_presence,
    shipped_presence,
)
from weft.bcsd.presence.trial import Known
from weft.bcsd.use.search.answers import spread
from weft.errors import CheckpointError, ConfigError, InputError
from weft.platform.confidence import Logistic


def logistic(width, seed):
    return Logistic(float(seed), tuple(np.random.default_rng(seed).standard_normal(width).tolist()))


@pytest.fixture
def fitted():
    among = len(ALONE + CONTEST + AGREEING)
    widths = [len(ALONE)] * 2 + [among] + [among + len(COMPANY)] * 2
    return Fitted(*(logistic(width, seed) for seed, width in enumerate(widths)))


def known(way, seed, count=30):
    """Leads of which the first feature tells nearly all."""
    random = np.random.default_rng(seed)
    right = random.random(count) < 0.4
    here = right | (random.random(count) < 0.1)
    features = random.standard_normal((count, len(ALONE)))
    features[:, 0] += 3 * right + here
    none = np.zeros(len(AGREEING))
    one = [
        Lead(row, number, float(row[0]), str(number), "z", np.array([number]), np.array([row[0]]), none)
        for number, row in enumerate(features)
    ]
    return Known(way, "p", "b", one, here, right)


def test_stored_and_read_again_to_the_bit(fitted, tmp_path):
    presence = Presence(fitted, fitted, "v")
    save_presence(presence, tmp_path / "search.json")
    assert load_presence(tmp_path / "search.json") == presence
    assert presence_of(tmp_path, "v") == (presence, True)
    assert presence_of(tmp_path, "w") == (presence, False)
    assert presence_of(tmp_path / "nowhere", "v") == (shipped_presence(), False)


@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"lifted": 3, "tokens": {}, "model": ""}'])
def test_what_is_no_such_file_is_refused(damage, tmp_path):
    (tmp_path / "search.json").write_text(damage)
    with pytest.raises(CheckpointError, match="calibrate --search"):
        presence_of(tmp_path, "v")


def test_coefficients_must_fit(fitted, tmp_path):
    with pytest.raises(ConfigError, match="alone_right has 3"):
        Fitted(logistic(3, 0), *(getattr(fitted, name) for name in list(vars(fitted))[1:]))
    save_presence(Presence(fitted, fitted), tmp_path / "search.json")
    record = json.loads((tmp_path / "search.json").read_text())
    record["tokens"]["contested"]["coefficients"].pop()
    (tmp_path / "search.json").write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match="contested has 13"):
        load_presence(tmp_path / "search.json")


def test_what_another_version_fitted_is_refused(fitted, tmp_path):
    place = tmp_path / "search.json"
    save_presence(Presence(fitted, fitted, model="one"), place)
    place.write_text(place.read_text().replace('"schema": 2', '"schema": 1'))
    with pytest.raises(CheckpointError, match="another version of weft: its schema is 1, not 2") as caught:
        load_presence(place)
    assert "calibrate --search" in str(caught.value.hint)


def test_few_functions_are_judged_alone_and_many_together(fitted):
    some = known("scattered", 1).leads
    alone, here = fitted(some[: TOGETHER - 1])
    features = np.stack([one.features for one in some])
    np.testing.assert_allclose(alone, fitted.alone_right(features[: TOGETHER - 1]))
    assert (here >= alone).all()
    together, _ = fitted(some)
    assert not np.allclose(together[: TOGETHER - 1], alone)
    assert [len(part) for part in fitted([])] == [0, 0]


def test_nine_of_ten_weigh_as_absent():
    trials = [known(way, seed) for seed, way in enumerate(["scattered", "halved", "gone"] * 3)]
    weight = weights_of(trials)
    here = np.concatenate([one.here for one in trials])
    way = np.concatenate([[one.way] * len(one.leads) for one in trials])
    for part in (way == "scattered", way != "scattered"):
        assert weight[part & here].sum() / weight[part].sum() == pytest.approx(0.1, abs=1e-6)
    assert weight[way == "scattered"].sum() == pytest.approx(weight[way != "scattered"].sum())
    # Half of a library is there; the other half is asked for as well.
    half = way == "halved"
    assert weight[half & here].sum() == pytest.approx(weight[half & ~here].sum())


def test_a_file_that_shares_much_with_a_library_does_not_lift_what_is_not_there():
    """Of a large file a third is in the library; the rest has a far hit there, or a near relative."""
    names = (*ALONE, *CONTEST, *AGREEING)
    told = {
        "there": (0.87, 0.21, 0.44, 6.5, 0.2, 0.18, 0.17, 0.09, 0.12, 1.0, 0.0, 0.22, 0.93, 0.4),
        "absent": (0.54, -0.04, 0.0, 6.5, -0.08, -0.07, -0.08, 0.68, 2.3, 1.0, -0.02, 0.04, 0.26, -0.17),
    }

    def leads_of(kind, first, count):
        values = dict(zip(names, told[kind], strict=True))
        features = np.array([values[name] for name in ALONE])
        agreed = np.array([values[name] for name in AGREEING])
        margin = values["won"] + values["lost"]
        rows = [np.array([2 * n, 2 * n + 1]) for n in range(first, first + count)]
        plain = values["likeness"]
        own = [
            Lead(features, 2 * n, plain, f"a{n}", "z", some, np.array([plain, 0.0]), agreed)
            for n, some in zip(range(first, first + count), rows, strict=True)
        ]
        # Who else is near to the same hit, by so much less.
        rival = features.copy()
        rival[0] = 0.0
        others = [
            Lead(
                rival, 10**6 + n, 0.0, f"b{n}", "y", np.array([2 * n]), np.array([plain - margin]), agreed * 0
            )
            for n in range(first, first + count)
        ]
        return own, others

    (here, other), (gone, rest) = leads_of("there", 0, 300), leads_of("absent", 300, 600)
    right, present = shipped_presence().lifted([*here, *gone, *other, *rest])
    assert right[:300].min() > 0.8
    assert right[300:900].max() < 0.2
    assert present[300:900].max() < 0.2


def test_a_fit_finds_what_tells():
    trials = [known(way, seed, 200) for seed, way in enumerate(["scattered", "halved", "gone"] * 2)]
    found = fit(trials)
    right, here = judged(trials, found)
    measured = measure(trials, right, here, 0.5)
    assert measured.precision > 0.7
    assert measured.error < 0.05
    assert measured.absent > 0.9
    assert np.isnan(measure(trials, right, here, 1.1).precision)
    with pytest.raises(InputError):
        fit([])


def test_hits_share_what_the_first_leaves():
    scores, copies = np.array([0.9, 0.9, 0.8, 0.7]), np.array([True, True, False, False])
    shares = spread(0.6, 0.9, scores, copies)
    assert shares[:2].tolist() == [0.6, 0.6]
    assert shares[2:].sum() == pytest.approx(0.3)
    assert shares[2] > shares[3]
    assert spread(0.1, 0.9, scores, copies)[2:].max() <= 0.1
    assert spread(0.3, 0.3, scores, copies)[2:].tolist() == [0, 0]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_hit_without_others_has_nothing_to_share(kind):
    assert spread(0.6, 0.9, np.array([0.5], kind), np.array([True])).tolist() == [0.6]
    assert spread(0.6, 0.9, np.array([0.5, -40.0], kind), np.array([True, False])).tolist() == [0.6, 0.0]
    assert spread(0.0, 0.0, np.zeros(0, kind), np.zeros(0, bool)).tolist() == []
