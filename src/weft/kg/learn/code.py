"""Training a leafy chain model on a data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from weft.errors import ConfigError
from weft.kg.config import ModelConfig, graphmert, weft_kg
from weft.kg.model.leafy_chain import LeafyChainModel, LossWeights
from weft.kg.represent.batch import ChainBatch
from weft.kg.represent.dataset import Corpus, Dataset
from weft.kg.represent.sampling import Sampler, SamplingConfig
from weft.train import Course, TrainConfig
from weft.train.batching import seeded

NAMED = ("weft-kg", "graphmert", "graphmert-official")
_CHECKED_BATCHES = 8


def named_config(
    name: str, dataset: Dataset, hidden_size: int, layers: int, heads: int, **choices: Any
) -> ModelConfig:
    """A named configuration at some size, for a data set's vocabulary and schema.

    Args:
        name: One of :data:`NAMED`.
        dataset: What the model is for.
        hidden_size: Width.
        layers: Layers.
        heads: Attention heads.
        choices: Further fields of :func:`weft.kg.config.weft_kg`.

    Raises:
        ConfigError: An unknown name.
    """
    vocab, relations, roots = dataset.tokenizer.vocab_size, dataset.schema.size, dataset.corpus.roots
    if name == "weft-kg":
        if choices.get("fusion") == "words":
            choices["prompt"] = (
                (),
                *(dataset.tokenizer.tail(relation) for relation in dataset.schema.names[1:]),
            )
        sizes = {"hidden_size": hidden_size, "layers": layers, "heads": heads, "roots": roots}
        config = weft_kg(vocab, relations, **sizes, **choices)
        return replace(config, language=dataset.language)
    if name not in NAMED:
        raise ConfigError(f"no configuration {name!r}; one of {', '.join(NAMED)}")
    config = graphmert(
        vocab,
        relations,
        official=name == "graphmert-official",
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * hidden_size,
        max_position_embeddings=roots,
    )
    return replace(config, language=dataset.language)


def course(
    model: LeafyChainModel,
    corpus: Corpus,
    sampling: SamplingConfig,
    config: TrainConfig,
    *,
    chunks: Tensor | None = None,
    weights: LossWeights | None = None,
    on_evaluation: Callable[[LeafyChainModel, Mapping[str, float]], None] | None = None,
) -> Course[LeafyChainModel, ChainBatch]:
    """The training of a model.

    Args:
        model: Trained in place.
        corpus: On the device where the model is trained.
        sampling: What a batch holds.
        config: How to train. Its ``metric`` may be ``"loss"``, ``"tail"``, ``"vocabulary"``, …: the losses
            on fixed batches of the validation part (of the training part where there is none).
        chunks: Indices of the chunks to train on, with repetitions to see some more often; the training
            part where None.
        weights: How much each loss counts.
        on_evaluation: Called with the model and its losses at each evaluation.
    """
    weights = weights or LossWeights()
    sampler = Sampler(corpus, model.config, sampling, chunks)
    held_out = corpus.chunks_of(1).cpu()
    checking = Sampler(corpus, model.config, sampling, held_out if len(held_out) else None)

    def losses(module: LeafyChainModel, batch: ChainBatch) -> Mapping[str, Tensor]:
        return module.losses(batch, weights)

    def evaluate(module: LeafyChainModel) -> Mapping[str, float]:
        values = validation_losses(module, checking, weights)
        if on_evaluation is not None:
            on_evaluation(module, values)
        return values

    return Course(model, sampler.batches(), losses, config, evaluate)


@torch.no_grad()
def validation_losses(
    model: LeafyChainModel, sampler: Sampler, weights: LossWeights, batches: int = _CHECKED_BATCHES
) -> dict[str, float]:
    """Mean losses over fixed batches."""
    order = torch.randperm(len(sampler.order), generator=seeded(0))
    size = min(sampler.config.batch_size, len(order))
    totals: dict[str, float] = {}
    count = max(1, min(batches, len(order) // size))
    for number in range(count):
        chunks = sampler.order[order[number * size : (number + 1) * size]]
        generator = torch.Generator(sampler.device).manual_seed(number)
        for name, value in model.losses(sampler.make(chunks, generator), weights).items():
            totals[name] = totals.get(name, 0.0) + float(value) / count
    return totals
