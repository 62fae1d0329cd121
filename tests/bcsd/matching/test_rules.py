"""Rules of matching: fitted to known builds, held out, stored, refused; and the builds that they are fitted to."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from weft.bcsd.matching.fit import Lessons, fit_rule, held_out_error, judged, refit
from weft.bcsd.matching.match import see
from weft.bcsd.matching.pairs.seen import score
from weft.bcsd.matching.rule import DEFAULT_RULE, load_rule, rule_of, save_rule
from weft.bcsd.matching.trial import Known, Trial, known_build, packages_of, strangers, with_fewer
from weft.bcsd.use.embedder import Embedder
from weft.errors import CheckpointError, ConfigError, InputError, OutputError
from weft.platform.confidence import Logistic

RULE = replace(DEFAULT_RULE, floor=0.0)


@pytest.fixture(scope="module")
def embedder(lexical_model):
    return Embedder.load(lexical_model)


def build(side, embedder, package="sample"):
    return Known(package, side, [f"{package}/{name}" for name in side.names], see(side, embedder))


def trial(side_of, embedder, first, second, packages=("sample", "sample")):
    a, b = (
        build(side_of(file), embedder, package)
        for file, package in zip((first, second), packages, strict=True)
    )
    return Trial("XO", a, b, score(a.seen, b.seen, embedder.weights), embedder.weights)


def test_a_fitted_rule_is_calibrated_on_what_it_saw(side_of, embedder):
    known = [
        trial(side_of, embedder, "gcc-O0-x86_64.so", "gcc-O3-x86_64.so"),
        trial(side_of, embedder, "gcc-O2-x86_64.so", "clang-O2-x86_64.so"),
    ]
    rule = fit_rule(Lessons(known), version="v")
    assert rule.model == "v"
    assert rule.score > 0
    assert min(rule.evidence) >= 0
    pairs = judged(Lessons(known), rule)
    assert pairs.right.mean() >= 0.6
    # A logistic regression with an intercept is right on average.
    assert rule.confidence(pairs.features).mean() == pytest.approx(pairs.right.mean(), abs=0.05)
    with pytest.raises(InputError, match="needs pairs of builds"):
        fit_rule(Lessons([]))


def test_a_confidence_is_fitted_without_the_rest_of_the_rule(side_of, embedder):
    known = [
        trial(side_of, embedder, "gcc-O0-x86_64.so", "gcc-O3-x86_64.so"),
        trial(side_of, embedder, "gcc-O2-x86_64.so", "clang-O2-x86_64.so"),
    ]
    rule = replace(RULE, model="v", floor=0.123)
    found = refit(Lessons(known), rule)
    assert replace(found, confidence=rule.confidence) == rule
    pairs = judged(Lessons(known), rule)
    assert found.confidence(pairs.features).mean() == pytest.approx(pairs.right.mean(), abs=0.05)


def test_unrelated_files_lower_the_confidence(side_of, embedder):
    files = "gcc-O0-x86_64.so", "gcc-O3-x86_64.so"
    known = [trial(side_of, embedder, *files)]
    other = trial(side_of, embedder, *files, packages=("sample", "other"))
    alone, warned = fit_rule(Lessons(known)), fit_rule(Lessons(known, unrelated=[other]))
    features = known[0].pair(alone).features
    assert warned.confidence(features).mean() < alone.confidence(features).mean()
    weights = [weight for _, weight in Lessons(known, known, [other]).weighed()]
    assert weights == [1.0, 0.3, 0.3]


def test_the_error_is_of_packages_that_were_left_out(side_of, embedder, monkeypatch):
    files = "gcc-O0-x86_64.so", "gcc-O3-x86_64.so"
    known = [trial(side_of, embedder, *files, packages=(name, name)) for name in ("one", "two")]
    lessons = Lessons(known)
    rule = replace(fit_rule(lessons), floor=0.0)
    # Twins: leaving one out leaves what it teaches.
    assert held_out_error(lessons, rule) == pytest.approx(
        held_out_error(Lessons(known[::-1]), rule), abs=1e-9
    )
    assert 0 <= held_out_error(lessons, rule) < 0.4
    assert np.isnan(held_out_error(Lessons(known[:1]), rule))
    assert np.isnan(held_out_error(lessons, replace(rule, floor=1.0)))
    fitted: list[int] = []

    def count(pairs, rule):
        fitted.append(len(pairs.right))
        return rule

    monkeypatch.setattr("weft.bcsd.matching.fit.fit_confidence", count)
    held_out_error(lessons, rule)
    assert fitted == [len(judged(Lessons(known[:1]), rule).right)] * 2


def test_a_trial_with_fewer_has_half_of_its_partners(side_of, embedder):
    whole = trial(side_of, embedder, "gcc-O2-x86_64.so", "clang-O2-x86_64.so")
    fewer = with_fewer(whole, embedder.weights)
    assert fewer.setting == "XO, fewer"
    kept = set(fewer.a.names), set(fewer.b.names)
    common = set(whole.a.names) & set(whole.b.names)
    assert not (common - kept[0]) & (common - kept[1])
    assert len(common) > len(kept[0] & kept[1]) == len(fewer.truth()[0]) > 0
    for known in (fewer.a, fewer.b):
        assert [f"sample/{name}" for name in known.side.names] == known.names
        assert len(known.side.functions) == len(known.side.constants) == len(known.side) == len(known.seen[0])
    assert fewer.scores.plain.shape == (len(fewer.a.side), len(fewer.b.side))
    assert with_fewer(whole, embedder.weights).a.names == fewer.a.names


def test_rules_survive_the_disk_and_know_their_model(tmp_path):
    rule = replace(DEFAULT_RULE, model="abc")
    save_rule(rule, tmp_path / "match.json")
    assert load_rule(tmp_path / "match.json") == rule
    assert rule_of(tmp_path, "abc") == (rule, True)
    assert rule_of(tmp_path, "other") == (rule, False)
    assert rule_of(tmp_path / "none", "abc") == (DEFAULT_RULE, False)
    good = json.loads((tmp_path / "match.json").read_text())
    early = {**good, "evidence": good["evidence"][:5]}
    early["confidence"] = {**good["confidence"], "coefficients": good["confidence"]["coefficients"][:10]}
    (tmp_path / "match.json").write_text(json.dumps(early))
    assert load_rule(tmp_path / "match.json") == replace(
        rule,
        evidence=(*rule.evidence[:5], 0.0),
        confidence=replace(
            rule.confidence, coefficients=(*rule.confidence.coefficients[:10], 0.0, 0.0, 0.0, 0.0)
        ),
    )
    broken = [
        {**good, "odd": 1},
        {**good, "evidence": 1},
        {**good, "confidence": {"kind": "temperature", "value": 1}},
    ]
    for text in ("{", "[]", '{"score": 1}', '{"odd": 1}', *map(json.dumps, broken)):
        (tmp_path / "match.json").write_text(text)
        with pytest.raises(CheckpointError):
            rule_of(tmp_path, "abc")
    with pytest.raises(OutputError, match="cannot be written"):
        save_rule(rule, tmp_path / "none" / "match.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"evidence": (1.0,)}, "evidence has 1 numbers; it must have 6"),
        ({"score": -1.0}, "at least 0"),
        ({"floor": 1.5}, "floor is 1.5"),
        ({"score": float("nan")}, "not finite"),
        ({"confidence": Logistic(0.0, (1.0,))}, "confidence has 1 numbers; it must have 14"),
    ],
)
def test_rules_refuse_what_breaks_them(change, message):
    with pytest.raises(ConfigError, match=message):
        replace(DEFAULT_RULE, **change)


def test_only_packages_of_the_wanted_role_are_used(tmp_path, embedder):
    for package, role in (("expat", "valid"), ("zlib", "test")):
        folder = tmp_path / "builds" / package / "gcc-O0-x86_64"
        folder.mkdir(parents=True)
        (folder / "report.json").write_text(json.dumps({"report": {"role": role}}))
    assert [folder.name for folder in packages_of(tmp_path, "valid")] == ["expat"]
    with pytest.raises(InputError, match="role 'test'; only 'valid'"):
        known_build(tmp_path / "builds" / "zlib" / "gcc-O0-x86_64", embedder, "valid")
    with pytest.raises(InputError, match="no finished build"):
        known_build(tmp_path / "builds" / "zlib" / "gcc-O1-x86_64", embedder, "valid")


def test_strangers_pair_different_packages(side_of, embedder):
    file = "gcc-O2-x86_64.so"
    known = [trial(side_of, embedder, file, file, packages=(name, name)) for name in ("one", "two")]
    found = strangers(known, embedder.weights)
    assert [(t.a.package, t.b.package) for t in found] == [("one", "two"), ("two", "one")]
    judgeable, right = found[0].judge(found[0].pair(RULE))
    assert judgeable.all()
    assert not right.any()
    assert strangers(known[:1], embedder.weights) == []
    more = [*known, trial(side_of, embedder, file, file, packages=("three", "three"))]
    pairs = [(t.a.package, t.b.package) for t in strangers(more, embedder.weights, 1)]
    assert pairs == [("one", "two"), ("two", "three"), ("three", "one")]
    assert len(strangers(more, embedder.weights)) == len(strangers(more, embedder.weights, 2)) == 6
