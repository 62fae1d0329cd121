"""Training a leafy chain model on a data set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from weft.errors import ConfigError
from weft.kg.config import ModelConfig, graphmert, weft_kg
from weft.kg.learn.notes import notes_about
from weft.kg.learn.start import Start
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
    leaves = dataset.corpus.leaves
    if name == "weft-kg":
        if choices.get("fusion") == "words":
            choices["prompt"] = (
                (),
                *(dataset.tokenizer.tail(relation) for relation in dataset.schema.names[1:]),
            )
        sizes = {
            "hidden_size": hidden_size,
            "layers": layers,
            "heads": heads,
            "roots": roots,
            "leaves": leaves,
        }
        config = weft_kg(vocab, relations, **sizes, **choices)
        return replace(config, language=dataset.language)
    if name not in NAMED:
        raise ConfigError(f"no configuration {name!r}; one of {', '.join(NAMED)}")
    config = graphmert(
        vocab,
        relations,
        official=name == "graphmert-official",
        leaves=leaves,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * hidden_size,
        max_position_embeddings=roots,
    )
    return replace(config, language=dataset.language)


def started(name: str, dataset: Dataset, start: Start, **choices: Any) -> LeafyChainModel:
    """A model of a named configuration whose encoder and head for masked roots begin as another's.

    Width, layers and heads are the start's; so are positions, from the first after BERT's ``[CLS]`` on, where the
    configuration has any. A leaf's slot starts near the type of BERT's first sentence. All of it is trained.

    Args:
        name: One of :data:`NAMED`.
        dataset: What the model is for.
        start: Where it begins.
        choices: As for :func:`named_config`.

    Raises:
        ConfigError: An unknown name; positions that the start does not have.
    """
    own = start.encoder.config
    if name == "weft-kg":
        choices = {"position": "absolute", **choices}
    config = named_config(
        name, dataset, own.hidden_size, own.num_hidden_layers, own.num_attention_heads, **choices
    )
    wanted = config.encoder
    config = replace(
        config,
        encoder=replace(
            own,
            type_vocab_size=wanted.type_vocab_size,
            max_position_embeddings=wanted.max_position_embeddings,
            position=wanted.position,
            hidden_dropout_prob=wanted.hidden_dropout_prob,
            attention_probs_dropout_prob=0.0,
        ),
    )
    model = LeafyChainModel(config)
    values = dict(start.encoder.state_dict())
    mine = model.encoder.state_dict()
    positions, types = "embeddings.position_embeddings.weight", "embeddings.token_type_embeddings.weight"
    theirs = values.pop(positions, None)
    if positions in mine:
        if theirs is None or len(theirs) < wanted.max_position_embeddings:
            raise ConfigError(f"{start.folder} has no {wanted.max_position_embeddings} positions")
        after = min(1, len(theirs) - wanted.max_position_embeddings)
        values[positions] = theirs[after : after + wanted.max_position_embeddings]
    if types in mine:
        values[types] = mine[types] + values[types][:1]
        values[types][0] = start.encoder.state_dict()[types][0]
    missing, unknown = model.encoder.load_state_dict(values, strict=False)
    lacking = [key for key in missing if not key.startswith("conditioner.")]
    if lacking or unknown:
        raise ConfigError(f"{start.folder} does not fit {name}: {', '.join([*lacking, *unknown])}")
    if start.mlm is not None:
        model.mlm.load_state_dict(start.mlm.state_dict())
    return model


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

    copying = () if model.copy_path is None else ("tail", "gate")
    measures = ("loss", "vocabulary", *copying, "mlm", "sbo")
    notes = notes_about(len(held_out))
    return Course(
        model, sampler.batches(), losses, config, evaluate, notes=notes, measures=measures, better="min"
    )


@torch.no_grad()
def validation_losses(
    model: LeafyChainModel, sampler: Sampler, weights: LossWeights, batches: int = _CHECKED_BATCHES
) -> dict[str, float]:
    """Mean losses over fixed batches, each counted by its chunks: the last one may be smaller."""
    order = torch.randperm(len(sampler.order), generator=seeded(0))
    size = min(sampler.config.batch_size, len(order))
    totals: dict[str, float] = {}
    asked = min(batches * size, len(order))
    for number, first in enumerate(range(0, asked, size)):
        chunks = sampler.order[order[first : first + size]]
        generator = torch.Generator(sampler.device).manual_seed(number)
        for name, value in model.losses(sampler.make(chunks, generator), weights).items():
            totals[name] = totals.get(name, 0.0) + float(value) * len(chunks) / asked
    return totals
