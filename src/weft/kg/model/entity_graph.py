"""The model of texts: leaves for entities beside the roots, states for pairs, a score for every fact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from weft.condition.hgat import HGAT
from weft.encoder.checkpoint.int8 import load_filled, save_compressed
from weft.encoder.encoder import Encoder
from weft.encoder.layer import EncoderLayer
from weft.errors import ConfigError, InputError
from weft.graph.triples import NO_TOKEN, Triples
from weft.kg.entity_config import EntityGraphConfig
from weft.kg.mentions.tags import number_of_tags
from weft.kg.model.mention_reader import CasedWords, MentionReader
from weft.kg.model.pairs import PairLayer, PairStates, SharedContext, distance_buckets
from weft.kg.represent.entities import EntityBatch

KIND = "entity-graph"


class EntityGraphModel(nn.Module):
    """Scores every fact (head, relation, tail) between the entities of a text.

        h        = mean of the last shared layers(text)
        z_i      = LN(type_i + mean of i's mention tokens), fused with those tokens by H-GAT, one relation a type
        [h ; z]  = upper layers([h ; z]), in which roots ignore leaves
        e_i      = [logsumexp over i's mentions of the mean of their tokens ; z_i]
        p_ij     = pair layers(pair state(e_i, e_j, what both leaves attend to, distance))
        l_ijr    = w_r · p_ij + b_r          l_ij0 is the pair's threshold; the fact holds where l_ijr > l_ij0

    Without ``leaves`` it is the plain encoder with the same pair states: the control.

    Args:
        config: What it is made of.

    Source:
        GraphMERT (Belova et al. 2025) for leaves and H-GAT; Zhou et al. 2021, ATLOP, for the pairs.

    Differs from the paper:
        A leaf stands for an entity that the text mentions and not for one token of a tail; its edges go to
        all of its mentions; the tail is chosen among the text's entities. See decision 0008.
    """

    def __init__(self, config: EntityGraphConfig) -> None:
        super().__init__()
        self.config = config
        width = config.encoder.hidden_size
        self.encoder = Encoder(config.encoder)
        self.leaf = nn.Embedding(len(config.types), width) if config.leaves else None
        self.leaf_norm = nn.LayerNorm(width) if config.leaves else None
        # Types from 1: H-GAT's row 0 is never used.
        self.fusion = HGAT(width, len(config.types) + 1, config.relation_dropout) if config.leaves else None
        self.context = SharedContext(width, config.pair_size) if config.context else None
        self.pairs = PairStates(
            2 * width if config.leaves else width,
            len(config.types),
            config.pair_size,
            config.distances,
        )
        self.pair_layers = nn.ModuleList(
            PairLayer(config.pair_size, config.dropout) for _ in range(config.pair_layers)
        )
        self.relations = nn.Linear(config.pair_size, config.num_relations)
        tags = number_of_tags(len(config.types) - 1)
        self.mentions = (
            MentionReader(config.encoder, config.mention_layers, tags, config.dropout)
            if config.mention_layers
            else None
        )
        if self.leaf is not None:
            nn.init.normal_(self.leaf.weight, std=0.02)
        self.learning_rate_scales = {
            name: config.encoder_rate for name, _ in self.named_parameters() if name.startswith("encoder.")
        }
        if config.frozen:
            for part in (self.encoder.embeddings, *list(self.encoder.layers)[: config.shared_layers]):
                part.requires_grad_(False)

    def lower(self, batch: EntityBatch) -> Tensor:
        """The roots after the shared layers, ``(B, R, hidden)``; without dropout where those are frozen."""
        if batch.hidden is not None:
            return batch.hidden.to(self.relations.weight.dtype)
        return self._without_change(batch, self._mean) if self.config.frozen else self._mean(batch)

    def _mean(self, batch: EntityBatch) -> Tensor:
        """The mean of the roots after each of the last shared layers."""
        shared = self.config.shared_layers
        first = shared - self.config.mean_layers + 1
        hidden = self.encoder(batch.input_ids, batch.real, layers=slice(0, first)).last_hidden_state
        total = hidden
        for layer in range(first, shared):
            hidden = self.encoder(hidden, batch.real, layers=slice(layer, layer + 1)).last_hidden_state
            total = total + hidden
        return total / self.config.mean_layers

    def _embedded(self, batch: EntityBatch) -> Tensor:
        """The roots before the first layer."""
        return self.encoder(batch.input_ids, batch.real, layers=slice(0, 0)).last_hidden_state

    def tag_scores(self, batch: EntityBatch) -> Tensor:
        """Scores of the tags of mentions, ``(B, R, tags)`` float32; see :mod:`weft.kg.mentions.tags`.

        Args:
            batch: Texts; their mentions are not looked at.

        Raises:
            ConfigError: The model does not find mentions.
            InputError: There are no letter cases.
        """
        if self.mentions is None:
            raise ConfigError("this model finds no mentions", hint="train one with mention_layers")
        if batch.cases is None:
            raise InputError(
                "texts without letter cases for a model that reads them", hint="run `weft kg build` again"
            )
        return self.mentions(CasedWords(self._without_change(batch, self._embedded), batch.cases), batch.real)

    def _without_change(self, batch: EntityBatch, part: Callable[[EntityBatch], Tensor]) -> Tensor:
        """What a part of the encoder makes of texts, without dropout and without gradients."""
        training = self.encoder.training
        with torch.no_grad():
            self.encoder.eval()
            hidden = part(batch)
            self.encoder.train(training)
        return hidden

    def forward(self, batch: EntityBatch) -> Tensor:
        """Scores ``(B, N, N, num_relations)`` float32; column 0 is the pair's threshold."""
        hidden = self.lower(batch)
        roots_there = batch.real
        mentioned, owned = batch.mentioned(), batch.owned()
        R = hidden.shape[1]
        upper = slice(self.config.shared_layers, None)
        if self.leaf is None:
            roots, leaves = hidden, None
            if self.config.moving_roots:
                roots = self.encoder(hidden, roots_there, layers=upper).last_hidden_state
        else:
            hidden = self._with_leaves(hidden, batch, mentioned, owned)
            real = torch.cat([roots_there, batch.there], dim=1)
            mask = _roots_ignore_leaves(real, R)
            if self.config.moving_roots:
                both = self.encoder(hidden, real, mask=mask, layers=upper).last_hidden_state
                roots, leaves = both[:, :R], both[:, R:]
            else:
                roots, leaves = hidden[:, :R], self._read(hidden, R, mask)
        entities = _pool(roots, mentioned, owned)
        if leaves is not None:
            entities = torch.cat([entities.to(leaves.dtype), leaves], dim=2)
        context = None
        if self.context is not None and leaves is not None:
            context = self.context(leaves, roots, roots_there)
        pairs = self.pairs(entities, batch.types, context, distance_buckets(batch.mention_start, owned))
        there = batch.pairs()
        for layer in self.pair_layers:
            pairs = layer(pairs, there)
        return self.relations(pairs).float()

    def _read(self, hidden: Tensor, roots: int, mask: Tensor) -> Tensor:
        """The leaves after the upper layers, in which the roots stay as they are."""
        still, leaves = hidden[:, :roots], hidden[:, roots:]
        for layer in list(self.encoder.layers)[self.config.shared_layers :]:
            seen = cast(EncoderLayer, layer).attention.key_value(torch.cat([still, leaves], dim=1))
            leaves, _ = layer(leaves, mask=mask[:, :, roots:], memory=seen)
        return leaves

    def _with_leaves(self, roots: Tensor, batch: EntityBatch, mentioned: Tensor, owned: Tensor) -> Tensor:
        """Roots and, after them, the entities' leaves, ``(B, R + N, hidden)``."""
        if self.leaf is None or self.fusion is None or self.leaf_norm is None:
            return roots
        tokens = (owned.to(roots.dtype) @ mentioned.to(roots.dtype)) > 0
        weights = tokens / tokens.sum(dim=2, keepdim=True).clamp(min=1)
        leaves = self.leaf(batch.types) + weights.to(roots.dtype) @ roots
        joined = torch.cat([roots, leaves.to(roots.dtype)], dim=1)
        state = self.fusion.prepare(_hanging(batch, tokens))
        joined = self.fusion.embed(joined, state)
        R = roots.shape[1]
        return torch.cat([roots, self.leaf_norm(joined[:, R:]).to(roots.dtype)], dim=1)

    def save(
        self,
        directory: str | Path,
        tokenizer: Tokenizer,
        dtype: torch.dtype | None = None,
        *,
        bits: int | None = None,
    ) -> None:
        """Write a checkpoint, atomically; with ``bits`` its matrices in bytes as fine as that."""
        save_compressed(directory, self, self.config, tokenizer, kind=KIND, dtype=dtype, bits=bits)

    @staticmethod
    def load(directory: str | Path) -> EntityGraphModel:
        """Read a checkpoint.

        Raises:
            CheckpointError: It is damaged, of another kind, or does not fit its configuration.
        """
        return load_filled(directory, _build, KIND)


def _build(values: Mapping[str, Any]) -> EntityGraphModel:
    return EntityGraphModel(EntityGraphConfig.from_dict(values))


def threshold_loss(scores: Tensor, labels: Tensor, pairs: Tensor, unstated: float = 1.0) -> Tensor:
    """Facts above their pair's threshold, everything else below it.

        −Σ_{r true} log softmax(l over the true ones and 0)_r − log softmax(l over the others and 0)_0

    Args:
        scores: ``(B, N, N, num_relations)``; column 0 is the threshold.
        labels: ``(B, N, N, num_relations)`` bool.
        pairs: ``(B, N, N)`` bool: which pairs count.
        unstated: How much a pair without a label counts, one with a label counting 1: labels may be a few of the facts.

    Returns:
        The weighted mean over pairs; 0 where there are none.

    Source:
        Zhou et al. 2021, ATLOP, eqs. 9–11.
    """
    scores, labels = scores[pairs], labels[pairs]
    lowest = torch.finfo(scores.dtype).min / 4
    threshold = torch.zeros_like(labels)
    threshold[:, 0] = True
    above = scores.masked_fill(~(labels | threshold), lowest).log_softmax(dim=1)
    below = scores.masked_fill(labels, lowest).log_softmax(dim=1)
    loss = -torch.where(labels, above, 0.0).sum(dim=1) - below[:, 0]
    if unstated == 1.0:
        return loss.sum() / max(len(loss), 1)
    weight = torch.where(labels.any(dim=1), 1.0, unstated)
    return (loss * weight).sum() / weight.sum().clamp(min=1e-6)


def _pool(roots: Tensor, mentioned: Tensor, owned: Tensor) -> Tensor:
    """Entities from their mentions: log Σ exp over mentions of the mean of a mention's tokens."""
    weights = mentioned / mentioned.sum(dim=2, keepdim=True).clamp(min=1)
    mentions = (weights.to(roots.dtype) @ roots).float()
    # Hidden states come out of a LayerNorm: their exponentials need no shift.
    sums = owned.float() @ mentions.exp()
    return torch.where(owned.any(dim=2)[..., None], sums.clamp(min=1e-9).log(), 0.0)


def _hanging(batch: EntityBatch, tokens: Tensor) -> Triples:
    """One triple for each entity: its mentions' tokens, its type as the relation, its leaf."""
    example, entity = torch.nonzero(batch.there, as_tuple=True)
    mine = tokens[example, entity]
    width = int(mine.sum(dim=1).max()) if len(mine) else 1
    place = torch.arange(mine.shape[1], device=mine.device).expand_as(mine)
    head = torch.where(mine, place, mine.shape[1]).sort(dim=1).values[:, : max(width, 1)]
    head = torch.where(head == mine.shape[1], NO_TOKEN, head)
    tail = (tokens.shape[2] + entity)[:, None]
    return Triples(example, batch.types[example, entity] + 1, head, tail)


def _roots_ignore_leaves(real: Tensor, roots: int) -> Tensor:
    """``(B, 1, N, N)`` bool: leaves see everything, roots see roots."""
    leaf = torch.arange(real.shape[1], device=real.device) >= roots
    return (leaf[:, None] | ~leaf[None, :])[None, None] & real[:, None, None, :]
