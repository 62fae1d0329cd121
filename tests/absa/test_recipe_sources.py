"""What the recipes of ``absa`` choose by is neither trained on nor measured; what they kept is of the same settings."""

import json
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from weft.absa.read.quadruples import read_mabsa
from weft.absa.read.reviews import Review
from weft.absa.use.store import load, save

ROOT = Path(__file__).parents[2]


def letters(reviews, plain):
    return {plain(review.text) for review in reviews}


def test_what_chooses_is_neither_trained_on_nor_measured(recipe, data):
    sources = recipe("absa_any_sources")
    trained = letters((r for source in sources.sources(data) for r in source.reviews), sources.plain)
    paths = (data / "absa/mabsa").glob("*-dev.txt")
    measured = letters((r for path in paths for r in read_mabsa(path).reviews), sources.plain)
    assert len(measured) > 1000
    held = sources.held_out(data)
    assert len(held) == 71
    assert letters(held, sources.plain).isdisjoint(trained | measured)
    parts = recipe("absa_any_terms").choosing(data, {"t-shirts"})
    assert list(parts) == ["t-shirts", "mams", "laptops", "restaurants", "written"]
    for name, reviews in parts.items():
        assert len(reviews) > 100
        # Shirts are a source where they are not left out, as here.
        used = measured if name == "t-shirts" else trained | measured
        assert letters(reviews, sources.plain).isdisjoint(used), name
    # Shirts are a part only where no tagger was trained on them.
    assert "t-shirts" not in recipe("absa_any_terms").choosing(data, set())


def test_texts_are_compared_by_their_letters(recipe, monkeypatch):
    sources = recipe("absa_any_sources")
    monkeypatch.setattr(sources, "measured_texts", lambda _: frozenset({sources.plain("It 's fine .")}))
    kept = sources.not_measured([Review("it's fine.", (), "x"), Review("it is fine.", (), "x")], Path())
    assert [review.text for review in kept] == ["it is fine."]


def test_no_two_plans_give_two_jobs_one_name(recipe):
    """Where two plans share a name, a result of one would count for the other."""
    jobs = recipe("absa_jobs")
    plans = (jobs.screening(), jobs.table(jobs.ABSA), jobs.shipped(jobs.ABSA), jobs.longer(jobs.ABSA))
    plans = (*plans, jobs.equal(jobs.ABSA), jobs.semeval(jobs.ABSA), jobs.holdout(jobs.ABSA))
    by_key: dict[str, object] = {}
    for plan in plans:
        for job in plan:
            assert by_key.setdefault(job.key, job) == job, job.key


def test_a_result_counts_for_the_same_job_alone(recipe, tmp_path):
    small, jobs = recipe("absa_small"), recipe("absa_jobs")
    first, other = jobs.screening()[:2]
    path = tmp_path / "results.jsonl"
    whole = {"quick": False, "start": "a"}
    records = [
        {"job": small.asdict(first), **whole, "final": {"nll": 0.3}},
        {"job": small.asdict(other), **whole, "quick": True, "final": {"nll": 0.1}},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert set(small.results(path, [first, other], whole)) == {first.key}
    longer = jobs.changed(first, first.name, train={"epochs": 99})
    assert small.results(path, [longer], whole) == {}
    assert small.results(path, [first], {**whole, "start": "b"}) == {}
    assert small.best_setting(small.results(path, [first, other], whole)) == first
    assert small.best_setting({}) is jobs.ABSA
    # A pair model's likelihood chooses no setting of the other kind.
    pair = next(job for job in jobs.screening() if job.name == "holdout pair")
    assert small.best_setting({first.key: {"nll": 0.3}, pair.key: {"nll": 0.1}}) == first


def test_what_was_kept_is_of_the_same_settings(recipe, tmp_path):
    kept = recipe("kept")
    given = Namespace(out=tmp_path, threads=1, steps=4, start=tmp_path / "m", run=print)
    settings = kept.settings_of(given)
    assert settings == {"steps": 4, "start": str(tmp_path / "m")}
    path = tmp_path / "results.jsonl"
    assert kept.kept_records(path, settings) == []
    path.write_text(json.dumps({"settings": settings, "found": 1}) + "\n", encoding="utf-8")
    assert [record["found"] for record in kept.kept_records(path, settings)] == [1]
    with pytest.raises(SystemExit, match=r"results.jsonl line 1: measured with steps 4, not 5; name another"):
        kept.kept_records(path, {**settings, "steps": 5})
    path.write_text(json.dumps({"found": 1}) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"line 1: it does not say under which settings"):
        kept.kept_records(path, settings)


def test_a_model_that_settings_name_counts_by_what_it_holds(recipe, tmp_path):
    kept, model = recipe("kept"), tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}", encoding="utf-8")
    given = Namespace(out=tmp_path / "out", threads=1, run=print, data=ROOT, begin=str(model))
    first = kept.identity(given)
    assert set(first) == {"begin"}
    assert kept.identity(Namespace(**{**vars(given), "threads": 2, "out": tmp_path / "other"})) == first
    (model / "config.json").write_text("[]", encoding="utf-8")
    assert kept.identity(given) != first


def test_a_mean_with_a_model_whose_lower_layers_learnt(make, recipe, tmp_path, monkeypatch):
    """The first model's layers stand in the frozen stack of the mean; with itself the mean is the model."""
    opened = {"open_aspects": True, "aspect_dropout": 0.0, "similarity_layers": 2, "frozen_layers": 1}
    first = make(**opened)
    save(tmp_path / "first", first)
    options = replace(first.config.options, frozen_layers=0)
    second = recipe("absa_any").under_options(tmp_path / "first", options)
    with torch.no_grad():
        for parameter in second.module.encoder.layers[0].parameters():
            parameter.add_(0.5)
    save(tmp_path / "second", second)
    mean = ["absa_any_mean.py", str(tmp_path / "first"), str(tmp_path / "second"), "--share", "0.5"]
    monkeypatch.setattr(sys, "argv", [*mean, "--out", str(tmp_path / "mean")])
    recipe("absa_any_mean").main()
    found = load(tmp_path / "mean")
    assert found.config.options == options
    weights, others = found.module.state_dict(), second.module.state_dict()
    name = "encoder.layers.0.output_norm.bias"
    torch.testing.assert_close(weights[name], others[name] - 0.25)
    assert torch.equal(weights["anchor.0.output_norm.bias"], first.module.state_dict()[name])
