"""How sure an answer is: temperature, and the length of the text."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from weft.absa.config import AbsaConfig
from weft.absa.evaluate.report import cross_calibrated, report, score
from weft.absa.evaluate.temperature import fit_ratio
from weft.absa.evaluate.threshold import calibrate
from weft.absa.explain.attribution import explain
from weft.absa.records import Context, Corpus, Sentence
from weft.absa.use import sureness
from weft.absa.use.store import load, recalibrate, save
from weft.errors import ConfigError

TEXTS = ("the rent is dear", "the rent is dear , " * 4)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Tests have texts of a few pieces."""
    monkeypatch.setattr(sureness, "SHORT", 8)


@pytest.mark.parametrize("kind", ["weft-absa", "pair"])
def test_a_long_text_is_less_sure_as_the_equation_says(make, kind):
    asker = make(kind)
    asker.config = replace(asker.config, temperature=1.5, length_power=0.5)
    contexts = (Context("price"), Context("safety", "rent"), Context("price", "rent"))
    batch = asker.represent([Sentence(text, contexts) for text in TEXTS])
    logits = asker.logits(batch)
    read = [int(mask.sum()) for mask in batch.attention_mask]
    lengths = read if kind == "pair" else [length for length in read for _ in contexts]
    assert max(lengths) > 8
    expected = []
    for row, length in zip(logits.detach().double().numpy(), lengths, strict=True):
        before = np.exp(row / 1.5) / np.exp(row / 1.5).sum()
        by = max(1.0, length / 8) ** 0.5
        odds = ((1 - before[0]) / before[0]) ** (1 / by)
        within = before[1:] ** (1 / by)
        expected.append([1 / (1 + odds), *(odds / (1 + odds) * within / within.sum())])
    assert np.allclose(asker.shares(logits, batch).detach().numpy(), expected)
    answers = np.concatenate(asker.answer([Sentence(text, contexts) for text in TEXTS]))
    assert np.allclose(answers, expected, atol=1e-6)


def test_without_a_power_all_texts_are_as_sure_as_before(make):
    asker = make()
    batch = asker.represent([Sentence(text, (Context("price"),)) for text in TEXTS])
    logits = asker.logits(batch)
    assert torch.equal(asker.shares(logits, batch), torch.softmax(logits.double(), dim=-1))


def test_it_is_stored_and_kept_and_explanations_say_the_same(make, tmp_path):
    asker = make()
    asker.config = replace(asker.config, length_power=0.4)
    save(tmp_path / "one", asker)
    recalibrate(tmp_path / "one", tmp_path / "two", 1.2, 0.4)
    recalibrate(tmp_path / "one", tmp_path / "three", 1.2, 0.4, 0.1)
    two, three = load(tmp_path / "two"), load(tmp_path / "three")
    assert (two.config.temperature, two.config.length_power) == (1.2, 0.4)
    assert three.config.length_power == 0.1
    probabilities = two.predict([TEXTS[1]], ["price"])[0, 0]
    told = explain(two, TEXTS[1], "price", method="attention").probabilities
    assert np.allclose([told[name] for name in two.classes_], probabilities)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_calibration_chooses_on_what_the_saved_model_gives(make, power):
    """Long texts, one of them in windows of which another one may speak."""
    asker = make()
    asker.config = replace(asker.config, temperature=1.5, length_power=power)
    contexts = (Context("price"), Context("safety", "rent"), Context("quiet"))
    texts = [
        *TEXTS,
        "the rent is good . " * 10 + "the location is bad . " * 12,
        "the rent is not good , " * 3,
    ]
    answers = (("positive", "none", "negative"), ("none", "negative", "none")) * 2
    corpus = Corpus(
        tuple(Sentence(text, contexts, given) for text, given in zip(texts, answers, strict=True)),
        asker.classes_,
    )
    for wanted in (None, 0.4, 3.0):
        found = calibrate(asker, corpus, temperature=wanted)
        after = score(asker.calibrated(found.temperature, found.threshold), corpus)
        assert np.allclose(found.after.probabilities, after.probabilities, atol=1e-9)
    whole = corpus.subset([0, 1, 3])
    best = calibrate(asker, whole).temperature
    values = {by: likely(asker.calibrated(best * by), whole) for by in (0.98, 1.0, 1.02)}
    assert values[1.0] == max(values.values())
    assert report(asker, whole)["temperature"] == pytest.approx(best)
    result = score(asker, whole)
    factor = np.concatenate([heard.factor for heard in asker.hear(whole.sentences)])
    assert (factor.max() > 1) == (power > 0)
    inside = result.group % 2 == 0
    ratio = fit_ratio(result.probabilities[~inside], factor[~inside], result.gold[~inside])
    other = score(asker.calibrated(asker.config.temperature * ratio), whole).probabilities
    assert np.allclose(cross_calibrated(result, factor, 2).probabilities[inside], other[inside], atol=1e-9)


def likely(asker, corpus):
    """Log-likelihood of the gold answers, and of two more of any row and class."""
    result = score(asker, corpus)
    logs = np.log(result.probabilities)
    return logs[np.arange(len(result.gold)), result.gold].sum() + 2 * logs.mean()


@pytest.mark.parametrize("wrong", [-0.1, float("nan"), float("inf")])
def test_a_power_below_zero_is_refused(wrong):
    with pytest.raises(ConfigError, match=f"length_power is {wrong}; it must be at least 0 and finite"):
        AbsaConfig(length_power=wrong)
