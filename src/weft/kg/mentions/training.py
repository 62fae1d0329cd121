"""Training the part of a model of texts that finds mentions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.errors import ConfigError, InputError
from weft.kg.mentions.tags import Span, tags_of
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.represent.entities import EntityBatch, EntityExample, entity_batch
from weft.objective.losses import IGNORED
from weft.train import History, TrainConfig, fit
from weft.train.batching import Batches, LengthBuckets
from weft.train.distributed import World


def gold_spans(example: EntityExample) -> list[Span]:
    """The given mentions of a text as spans; those of an unknown type are left out."""
    kinds = example.types[example.mention_entity].tolist()
    return [
        Span(first, stop, kind - 1)
        for first, stop, kind in zip(
            example.mention_start.tolist(), example.mention_end.tolist(), kinds, strict=True
        )
        if kind
    ]


def gold_tags(examples: Sequence[EntityExample], length: int) -> Tensor:
    """The tags of texts, ``(B, R)`` int64; −100 beyond a text's end."""
    rows = []
    for example in examples:
        row = torch.full((length,), IGNORED, dtype=torch.int64)
        row[: len(example.ids)] = torch.from_numpy(tags_of(gold_spans(example), len(example.ids)))
        rows.append(row)
    return torch.stack(rows)


def mention_loss(scores: Tensor, tags: Tensor) -> Tensor:
    """The mean cross-entropy of the tags of all real tokens."""
    return F.cross_entropy(scores.flatten(0, 1), tags.flatten(), ignore_index=IGNORED)


def train_mentions(
    model: EntityGraphModel,
    passages: Sequence[EntityExample],
    config: TrainConfig,
    *,
    quiet: bool = False,
) -> History:
    """Train the layers that find mentions on given ones; nothing else changes.

    They read the model's embeddings: where those are not frozen, train what moves them first.

    Args:
        model: One that finds mentions; trained in place.
        passages: Texts with all their mentions.
        config: How to train.
        quiet: No progress bar.

    Raises:
        InputError: No passage has a mention.
    """
    passages = [passage for passage in passages if len(passage.mention_entity)]
    if not passages:
        raise InputError("no passage with a mention to train on")
    tagger = Tagger(model)
    world, lengths = World.launched(), [len(item.ids) for item in passages]
    plan = LengthBuckets(lengths, config.batch_size, seed=config.seed, rank=world.rank, world_size=world.size)

    def collate(indices: list[int], generator: torch.Generator) -> tuple[EntityBatch, Tensor]:
        chosen = [passages[number] for number in indices]
        batch = entity_batch(chosen)
        return batch, gold_tags(chosen, batch.input_ids.shape[1])

    def loss(tagger: Tagger, data: tuple[EntityBatch, Tensor]) -> dict[str, Tensor]:
        batch, tags = data
        return {"loss": mention_loss(tagger(batch), tags)}

    return fit(
        tagger,
        Batches(plan, collate, seed=config.seed, rank=world.rank),
        loss,
        config,
        quiet=quiet,
    )


class Tagger(nn.Module):
    """A model of texts as nothing but a finder of mentions, for as long as that is trained.

    Args:
        model: One that finds mentions.

    Raises:
        ConfigError: It finds none.
    """

    def __init__(self, model: EntityGraphModel) -> None:
        super().__init__()
        if model.mentions is None:
            raise ConfigError("this model finds no mentions", hint="train one with mention_layers")
        self.reader = model.mentions
        self._whole = (model,)
        self.learning_rate_scales = {
            name: model.config.encoder_rate
            for name, _ in self.named_parameters()
            if name.startswith("reader.encoder.layers.")
        }

    @property
    def model(self) -> EntityGraphModel:
        """The whole model, whose other parts stay as they are."""
        return self._whole[0]

    def forward(self, batch: EntityBatch) -> Tensor:
        """Scores of the tags, ``(B, R, tags)``."""
        return self.model.tag_scores(batch)
