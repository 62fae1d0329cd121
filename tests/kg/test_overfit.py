"""A small set can be learnt by heart, and not without knowing which relation is asked for."""

from __future__ import annotations

from dataclasses import replace

import torch

from weft.kg.config import ModelConfig
from weft.kg.evaluate.scores import evaluate
from weft.kg.evaluate.views import make_views
from weft.kg.learn.code import course, named_config
from weft.kg.model.leafy_chain import LeafyChainModel, LossWeights
from weft.kg.represent.dataset import Dataset
from weft.kg.represent.sampling import SamplingConfig
from weft.train import TrainConfig


def learn(dataset: Dataset, config: ModelConfig, shuffle: bool) -> float:
    """P@1 on the very queries that the model was trained on."""
    torch.manual_seed(0)
    model = LeafyChainModel(config)
    sampling = SamplingConfig(batch_size=8, hide_share=0.0, mlm_share=0.0, shuffle_relations=shuffle)
    steps = TrainConfig(
        steps=80, batch_size=8, learning_rate=4e-3, eval_every=10**9, restore_best=False, warmup=0.1
    )
    # The chunks of most triples: their heads have several relations each.
    chunks, first = dataset.corpus.chunks_of(0), dataset.corpus.first_triple
    chunks = chunks[(first[chunks + 1] - first[chunks]).argsort(descending=True, stable=True)[:8]]
    weights = LossWeights(mlm=0, sbo=0)
    course(model, dataset.corpus, sampling, steps, weights=weights, chunks=chunks).run()
    split = torch.full_like(dataset.corpus.split, 1)
    split[chunks] = 2
    mine = replace(dataset, corpus=replace(dataset.corpus, split=split))
    views = {"visible": make_views(mine, "test")["visible"]}
    scores = evaluate(model, mine.corpus, views, dataset.schema.names, beams=2, shuffle_relations=shuffle)
    return scores["visible"].precision_at_1.estimate


def test_a_small_set_is_learnt_by_heart_and_only_with_its_relations(dataset: Dataset) -> None:
    config = named_config("weft-kg", dataset, hidden_size=64, layers=2, heads=2, dropout=0.0)
    right, shuffled = learn(dataset, config, False), learn(dataset, config, True)
    assert right >= 0.9
    assert shuffled <= right - 0.2
