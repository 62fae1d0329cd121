"""How sure an answer is: temperature, and the length of the text."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from weft.absa.config import AbsaConfig
from weft.absa.explain.attribution import explain
from weft.absa.records import Context, Sentence
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


@pytest.mark.parametrize("wrong", [-0.1, float("nan"), float("inf")])
def test_a_power_below_zero_is_refused(wrong):
    with pytest.raises(ConfigError, match=f"length_power is {wrong}; it must be at least 0 and finite"):
        AbsaConfig(length_power=wrong)
