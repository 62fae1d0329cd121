"""Training a model of texts with entities: from scratch, or from a BERT directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from weft.encoder.config import EncoderConfig
from weft.errors import InputError
from weft.kg.entity_config import EntityGraphConfig
from weft.kg.learn.notes import notes_about
from weft.kg.learn.start import load_start
from weft.kg.model.entity_graph import EntityGraphModel, threshold_loss
from weft.kg.represent.entities import EntityBatch, EntityExample, entity_batch
from weft.kg.represent.passages import TextDataset
from weft.train import Course, TrainConfig
from weft.train.batching import Batches, LengthBuckets, to_device
from weft.train.distributed import World

WITHOUT_GRAPH: Mapping[str, Any] = {"leaves": False, "context": False, "distances": False, "pair_layers": 0}
"""Choices that leave the encoder, the pooling of mentions, types and products: the control."""
_CACHED_AT_ONCE = 8
_TUNED_RATE = 0.06
"""Of the encoder, as a share of the other parts' rate: its lower layers know much already."""


def from_scratch(
    dataset: TextDataset, *, hidden_size: int = 256, layers: int = 4, heads: int = 4, **choices: Any
) -> EntityGraphModel:
    """A model with random weights for a data set's vocabulary and schema.

    Args:
        dataset: What the model is for.
        hidden_size: Width.
        layers: Layers.
        heads: Attention heads.
        choices: Further fields of :class:`weft.kg.entity_config.EntityGraphConfig`.
    """
    encoder = EncoderConfig(
        vocab_size=dataset.tokenizer.vocab_size,
        hidden_size=hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=3 * hidden_size,
        max_position_embeddings=max(512, max(len(passage.ids) for passage in dataset.passages)),
        attention_probs_dropout_prob=0.0,
    )
    return EntityGraphModel(_config(encoder, dataset, choices))


def from_pretrained(
    dataset: TextDataset, directory: Path, *, shared_layers: int = 4, tuned: bool = False, **choices: Any
) -> EntityGraphModel:
    """A model whose encoder starts from a BERT directory; its lower layers stay as they are, or learn slowly.

    Args:
        dataset: What the model is for; its vocabulary must be the directory's.
        directory: A checkpoint that :func:`weft.encoder.checkpoint.pretrained.load_pretrained` reads.
        shared_layers: Lower layers that are kept; 0 trains everything.
        tuned: The lower layers learn too, the embeddings stay: what finds mentions stands on those as well.
        choices: Further fields of :class:`weft.kg.entity_config.EntityGraphConfig`.

    Raises:
        CheckpointError: It is none, or of another vocabulary.
    """
    start = load_start(directory, dataset.tokenizer.vocab_size)
    encoder = start.encoder.config
    settings = {
        "shared_layers": shared_layers,
        "frozen": shared_layers > 0 and not tuned,
        "moving_roots": shared_layers == 0,
        "encoder_rate": _TUNED_RATE if tuned else 0.15,
        **choices,
    }
    encoder = replace(encoder, attention_probs_dropout_prob=0.0)
    model = EntityGraphModel(_config(encoder, dataset, settings))
    model.encoder.load_state_dict(start.encoder.state_dict())
    if tuned:
        model.encoder.embeddings.requires_grad_(False)
    if model.mentions is not None:
        for own, theirs in zip(model.mentions.encoder.layers, start.encoder.layers, strict=False):
            own.load_state_dict(theirs.state_dict())
    return model


def with_frozen_states(model: EntityGraphModel, passages: Sequence[EntityExample]) -> list[EntityExample]:
    """Passages with their roots after the frozen layers, computed once; as given where they are or none is frozen."""
    if not model.config.frozen or all(passage.hidden is not None for passage in passages):
        return list(passages)
    model.eval()
    device = next(model.parameters()).device
    found: dict[int, EntityExample] = {}
    order = sorted(range(len(passages)), key=lambda number: len(passages[number].ids))
    for start in range(0, len(order), _CACHED_AT_ONCE):
        part = order[start : start + _CACHED_AT_ONCE]
        hidden = model.lower(to_device(entity_batch([passages[number] for number in part]), device)).cpu()
        for row, number in enumerate(part):
            kept = hidden[row, : len(passages[number].ids)].to(torch.bfloat16)
            found[number] = replace(passages[number], hidden=kept.clone())
    return [found[number] for number in range(len(passages))]


def course(
    model: EntityGraphModel,
    dataset: TextDataset,
    config: TrainConfig,
    *,
    evaluate: Callable[[EntityGraphModel], Mapping[str, float]] | None = None,
    shuffle_relations: bool = False,
    pairs_together: int = 0,
    unstated: float | None = None,
) -> Course[EntityGraphModel, EntityBatch]:
    """The training of a model.

    Args:
        model: Trained in place.
        dataset: Its training part is used.
        config: How to train.
        evaluate: Called with the model; the loss on the validation part where None.
        shuffle_relations: Give every fact a random relation: a control.
        pairs_together: Passages of fewer pairs of entities count as one, as many as have so many pairs together: a
            sentence weighs less than a document. Each passage by itself where 0.
        unstated: Pairs without a fact count together at most so many times as much as those with one, in training and
            in the loss on the validation part; all alike where None. See :func:`weight_of_unstated`.

    Raises:
        InputError: No passage to train on has two entities.
    """
    passages = [passage for passage in dataset.passages_of("train") if len(passage.types) > 1]
    if not passages:
        raise InputError("no passage with two entities in the training part", where=str(dataset.folder))
    passages = with_frozen_states(model, passages)
    groups = _together(passages, pairs_together)
    world, seed = World.launched(), config.seed
    size = world.shared(min(config.batch_size, len(groups)))
    # Pairs grow with the square of the entities and cost more than tokens: entities first.
    lengths = [max(1000 * len(item.types) + len(item.ids) for item in group) for group in groups]
    plan = LengthBuckets(lengths, size, seed=seed, rank=world.rank, world_size=world.size, drop_last=True)

    def collate(indices: list[int], generator: torch.Generator) -> EntityBatch:
        batch = entity_batch([passage for number in indices for passage in groups[number]])
        if not shuffle_relations:
            return batch
        facts = batch.facts.clone()
        facts[:, 2] = torch.randint(1, model.config.num_relations, (len(facts),), generator=generator)
        return replace(batch, facts=facts)

    weight = 1.0 if unstated is None else weight_of_unstated(passages, unstated)
    held_out = with_frozen_states(
        model, [item for item in dataset.passages_of("valid") if len(item.types) > 1]
    )

    def loss_on_validation(module: EntityGraphModel) -> Mapping[str, float]:
        return {"loss": mean_loss(module, held_out or passages[:size], size, weight)}

    batches = Batches(plan, collate, seed=seed, rank=world.rank)
    loss = partial(entity_loss, unstated=weight)
    if evaluate is not None:
        return Course(model, batches, loss, config, evaluate)
    notes = notes_about(len(held_out))
    return Course(
        model, batches, loss, config, loss_on_validation, notes=notes, measures=("loss",), better="min"
    )


def weight_of_unstated(passages: Sequence[EntityExample], most: float) -> float:
    """How much a pair without a fact is to count, where one with a fact counts 1.

        w = min(1, most · pairs with a fact / pairs without one)

    A seed knows few of the facts that its documents state. Taken for "no fact" at full weight, the rest drowns them: of
    texts labelled whole about one pair in thirteen has a fact, of a sparse seed's one in two hundred.

    Args:
        passages: To train on.
        most: How much all pairs without a fact count at most, together, for each that has one.
    """
    pairs = sum(len(item.types) * (len(item.types) - 1) for item in passages)
    stated = sum(len(item.facts[:, [0, 2]].unique(dim=0)) for item in passages)
    return min(1.0, most * stated / max(pairs - stated, 1)) if stated else 1.0


def _together(passages: Sequence[EntityExample], least: int) -> list[list[EntityExample]]:
    """Passages one by one, those of few pairs in groups that have so many together, shortest first."""
    groups: list[list[EntityExample]] = []
    pairs = least
    for passage in sorted(passages, key=lambda item: len(item.types)) if least else passages:
        if pairs >= least:
            groups.append([])
            pairs = 0
        groups[-1].append(passage)
        pairs += len(passage.types) * (len(passage.types) - 1)
    return groups


def entity_loss(model: EntityGraphModel, batch: EntityBatch, unstated: float = 1.0) -> dict[str, Tensor]:
    """The loss of one batch; ``unstated`` is how much a pair without a fact counts."""
    labels = batch.labels(model.config.num_relations)
    return {"loss": threshold_loss(model(batch), labels, batch.pairs(), unstated)}


@torch.no_grad()
def mean_loss(
    model: EntityGraphModel, passages: Sequence[EntityExample], size: int, unstated: float = 1.0
) -> float:
    """The loss of passages, computed in batches, as one batch of them all has it: the weighted mean over pairs."""
    order = sorted(passages, key=lambda item: len(item.ids))
    device = next(model.parameters()).device
    total, weights = 0.0, 0.0
    for start in range(0, len(order), size):
        batch = to_device(entity_batch(order[start : start + size]), device)
        stated = batch.labels(model.config.num_relations)[batch.pairs()].any(dim=1)
        weight = float(torch.where(stated, 1.0, unstated).sum())
        total += weight * float(entity_loss(model, batch, unstated)["loss"])
        weights += weight
    return total / weights if weights else 0.0


def _config(encoder: EncoderConfig, dataset: TextDataset, choices: Mapping[str, Any]) -> EntityGraphConfig:
    sizes = {"num_relations": dataset.schema.size, "types": dataset.types}
    return EntityGraphConfig(encoder, **{**sizes, **choices})
