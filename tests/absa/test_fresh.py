"""Parts that no pretrained weight is in: plain pooling, and the rate at which they learn."""

import numpy as np
import pytest
import torch

from weft.absa.config import ModelOptions
from weft.absa.evaluate.report import score, summary
from weft.absa.learn.training import Learning, train
from weft.absa.use.store import load, save
from weft.train import TrainConfig


def options(kind="weft-absa", **changes):
    small = {"max_length": 32, "similarity_layers": 1, "aspect_dropout": 0.0, "classifier_dropout": 0.0}
    return ModelOptions(kind=kind, **{**small, **changes})


def settings(**changes):
    plan = {"batch_size": 4, "learning_rate": 5e-3, "schedule": "constant", "device": "cpu"}
    return TrainConfig(**{**plan, "restore_best": False, **changes})


def test_plain_pooling_overfits_and_is_kept(start, corpus, tmp_path):
    trained = train(corpus, start, options(pooler_blocks=0), settings(epochs=30))
    assert summary(score(trained.asker, corpus), corpus)["strict"] == 1.0
    save(tmp_path / "model", trained.asker)
    again = score(load(tmp_path / "model"), corpus)
    assert np.array_equal(again.probabilities, score(trained.asker, corpus).probabilities)


@pytest.mark.parametrize(
    ("kind", "fresh"),
    [
        ("weft-absa", {"head.classifier.weight", "context.aspect.weight", "context.target.weight"}),
        ("plain", {"head.classifier.weight", "pooling.dense.weight", "pooling.dense.bias"}),
        ("pair", {"head.classifier.weight"}),
    ],
)
def test_a_head_learns_at_a_rate_of_its_own(start, corpus, kind, fresh):
    """Adam's first step is the rate itself, whatever the gradient."""
    config = settings(steps=1, warmup=0, weight_decay=0, learning_rate=1e-3)
    chosen = options("weft-absa", pooler_blocks=0) if kind == "plain" else options(kind)
    slow, fast, same = (
        dict(
            train(
                corpus, start, chosen, config, learning=Learning(blank_texts=0, head_rate=rate)
            ).asker.module.named_parameters()
        )
        for rate in (1.0, 4.0, 1.0)
    )
    assert all(torch.equal(slow[name], same[name]) for name in slow)
    other = {name for name in slow if not torch.equal(slow[name], fast[name])}
    assert fresh <= other
    # The similarity is fitted when all else has been learnt.
    assert all(name.startswith(("head.", "context.", "pooling.", "similarity_head.")) for name in other)
    first, second = (weights["head.classifier.weight"].detach() for weights in (slow, fast))
    # A step of 1e-3 there, of 4e-3 here, in the same direction.
    assert (second - first).abs().max() == pytest.approx(3e-3, rel=1e-2)
