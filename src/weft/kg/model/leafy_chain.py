"""The leafy chain model: encoder + relation fusion + distance decay + heads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.attention.operation import Path as AttentionPath
from weft.condition.conditioner import Conditioner, Stack
from weft.condition.decay import DistanceDecay
from weft.condition.hgat import HGAT
from weft.encoder.checkpoint.int8 import load_filled, save_compressed
from weft.encoder.embeddings import TokenInputs
from weft.encoder.encoder import Encoder
from weft.encoder.heads import MLMHead, SBOHead
from weft.encoder.initialisation import initialise
from weft.errors import ConfigError, InputError
from weft.kg.config import ModelConfig
from weft.kg.dataset.tokens import SPECIALS, CodeTokenizer
from weft.kg.model.fusion import RelationEmbedding
from weft.kg.represent.batch import IGNORED, ChainBatch
from weft.objective.losses import masked_language_modeling_loss, span_boundary_loss
from weft.objective.masking import span_boundaries
from weft.platform.ranges import require

KIND = "leafy-chain"


@dataclass(frozen=True)
class LossWeights:
    """How much each part of the loss counts; every part is a mean over its own targets.

    Args:
        tail: −log p of the tail's tokens, under the mixture of both paths.
        vocabulary: −log p of the same tokens under the vocabulary path alone, so that copying does not
            keep it from learning names.
        gate: Binary cross-entropy of the gate.
        mlm: Masked roots.
        sbo: Masked roots from their spans' edges.

    Raises:
        ConfigError: One that is below 0 or not finite.
    """

    tail: float = 1.0
    vocabulary: float = 0.5
    gate: float = 0.5
    mlm: float = 0.5
    sbo: float = 0.25

    def __post_init__(self) -> None:
        for each in fields(self):
            require(self, each.name, 0 <= getattr(self, each.name) < math.inf, "at least 0 and finite")


class CopyPath(nn.Module):
    """A pointer from leaves into the roots and the gate that trusts it.

    c_ij = softmax_j((W_q leaf_i)·(W_k root_j) / √hidden)      g_i = sigmoid(w·leaf_i + b)

    Args:
        hidden_size: Width of the hidden states.
        std: Standard deviation of the initial weights.
    """

    def __init__(self, hidden_size: int, std: float) -> None:
        super().__init__()
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.gate = nn.Linear(hidden_size, 1)
        initialise(self, std)

    def forward(self, leaves: Tensor, roots: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """Point.

        Args:
            leaves: ``(B, L, hidden)``.
            roots: ``(B, R, hidden)``.
            allowed: ``(B, 1 or L, R)`` bool: tokens that may be copied.

        Returns:
            Log-weights ``(B, L, R)`` in float32, and gate logits ``(B, L)`` in float32.
        """
        return self.point(leaves, self.key(roots), allowed)

    def point(self, leaves: Tensor, keys: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        """The same, with the keys ``(B, R, hidden)`` of the roots."""
        scores = torch.bmm(self.query(leaves), keys.transpose(1, 2)).float() / math.sqrt(keys.shape[2])
        scores = scores.masked_fill(~allowed, torch.finfo(torch.float32).min)
        return F.log_softmax(scores, dim=-1), self.gate(leaves).squeeze(-1).float()


class LeafyChainModel(nn.Module):
    """Predicts masked roots, and the tails of triples token by token.

    p(token at leaf i) = (1 − g_i) · softmax(vocabulary head)_token + g_i · Σ_{j: root j = token} c_ij

    and the first term alone without a copy path.

    Args:
        config: What it is made of.

    Source:
        GraphMERT (Belova et al., 2025); the copy path after See et al. (2017), "Get To The Point".

    Differs from the paper:
        The gate is supervised with what is known for free, whether the tail stands in the chunk; tails
        are spelled left to right under ``decoding="causal"``; MLM, SBO and MNM have separate means.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        width, std = config.encoder.hidden_size, config.encoder.initializer_range
        members: list[Conditioner] = []
        relations = config.num_relations + config.clues
        if config.fusion in ("hgat", "residual"):
            residual = config.fusion == "residual"
            members.append(HGAT(width, relations, config.relation_dropout, residual=residual))
        elif config.fusion == "embedding":
            members.append(RelationEmbedding(width, relations))
        if config.decay != "none":
            longest = config.encoder.max_position_embeddings + 1
            members.append(DistanceDecay(config.encoder.num_attention_heads, longest, mode=config.decay))
        self.encoder = Encoder(config.encoder, conditioner=Stack(members) if members else None)
        self.mlm = MLMHead(config.encoder)
        self.sbo = SBOHead(config.encoder)
        self.copy_path = CopyPath(width, std) if config.copy_path else None

    @property
    def word_embeddings(self) -> Tensor:
        """``(vocab, hidden)``."""
        return self.encoder.embeddings.word_embeddings.weight  # type: ignore[union-attr, return-value]  # TokenEmbeddings

    def forward(self, batch: ChainBatch, path: AttentionPath = "auto", layers: slice = slice(None)) -> Tensor:
        """Hidden states ``(B, N, hidden)``; those of the embeddings with ``layers=slice(0, 0)``.

        Raises:
            InputError: Ids outside the vocabulary, an empty batch.
            GraphError: A triple outside the batch, or of an unknown relation.
        """
        config = self.config
        structure: list[Any] = []
        if config.fusion in ("hgat", "residual", "embedding"):
            structure.append(batch.triples())
        if config.decay != "none":
            structure.append(batch.distances())
        types = (batch.slot + 1).clamp(min=0)
        types = types if config.slots else types.clamp(max=1)
        output = self.encoder(
            TokenInputs(batch.input_ids, types),
            batch.real,
            structure=structure or None,
            position_ids=batch.root if config.encoder.position != "none" else None,
            mask=batch.one_way(config.decoding == "causal") if config.one_way else None,
            layers=layers,
            path=path,
        )
        return output.last_hidden_state

    def log_vocabulary(self, leaves: Tensor) -> Tensor:
        """The vocabulary path's log-probabilities, ``(..., vocab)`` float32 from ``(..., hidden)``.

        A tail holds no padding, mask or other special token: their probability is 0. Without slots a tail
        has no end of its own either, as published.
        """
        return F.log_softmax(self.tail_logits(leaves), dim=-1)

    def tail_logits(self, leaves: Tensor) -> Tensor:
        """The vocabulary path's logits, ``(..., vocab)`` float32 from ``(..., hidden)``."""
        logits = self.mlm(leaves, self.word_embeddings).float()
        never = len(SPECIALS) - 1 if self.config.slots else len(SPECIALS)
        special = torch.arange(logits.shape[-1], device=logits.device) < never
        return logits.masked_fill(special, torch.finfo(torch.float32).min)

    def pointers(self, hidden: Tensor, batch: ChainBatch) -> tuple[Tensor, Tensor]:
        """Copy log-weights ``(B, L, S)`` and gate logits ``(B, L)`` of the leaf columns.

        S are the roots and the leaves that are shown.

        Raises:
            InputError: The model has no copy path.
        """
        if self.copy_path is None:
            raise InputError("this model has no copy path")
        words = batch.beside_leaves(batch.input_ids) >= len(SPECIALS)
        allowed = batch.readable(batch.root[:, batch.num_roots :]) & words[:, None]
        return self.copy_path(hidden[:, batch.num_roots :], batch.beside_leaves(hidden), allowed)

    def losses(self, batch: ChainBatch, weights: LossWeights) -> dict[str, Tensor]:
        """All losses, and their weighted sum as ``"loss"``; one without targets is 0.

        Args:
            batch: Chunks with targets.
            weights: How much each counts.
        """
        hidden = self(batch)
        R = batch.num_roots
        targets = batch.tail_targets[:, R:]
        asked = targets != IGNORED
        target = targets[asked]
        log_vocabulary = self.log_vocabulary(hidden[:, R:][asked])
        from_vocabulary = log_vocabulary.gather(1, target[:, None]).squeeze(1)
        result = {"vocabulary": -_mean(from_vocabulary)}
        if self.copy_path is not None:
            log_copy, gate = self.pointers(hidden, batch)
            log_copy, gate = log_copy[asked], gate[asked]
            example = torch.nonzero(asked)[:, 0]
            same = batch.beside_leaves(batch.input_ids)[example] == target[:, None]
            # The least float instead of −inf: a tail that is not there must not give a NaN gradient.
            lowest = torch.finfo(torch.float32).min / 4
            copied = torch.logsumexp(log_copy.masked_fill(~same, lowest), dim=1)
            mixed = torch.logaddexp(F.logsigmoid(-gate) + from_vocabulary, F.logsigmoid(gate) + copied)
            result["tail"] = -_mean(mixed)
            copyable = batch.copyable[:, R:][asked].float()
            result["gate"] = _mean(F.binary_cross_entropy_with_logits(gate, copyable, reduction="none"))
        result |= self._root_losses(hidden, batch)
        scale = {name: getattr(weights, name) for name in result}
        if self.copy_path is None:
            scale["vocabulary"] = weights.tail
        parts = [scale[name] * value for name, value in result.items() if scale[name]]
        if not parts:
            raise ConfigError(
                f"LossWeights leave nothing to learn: {', '.join(result)} weigh 0 in this model"
            )
        total = torch.stack(parts).sum()
        return {"loss": total, **{name: value.detach() for name, value in result.items()}}

    def _root_losses(self, hidden: Tensor, batch: ChainBatch) -> dict[str, Tensor]:
        targets = batch.root_targets[:, : batch.num_roots]
        asked = targets != IGNORED
        roots = hidden[:, : batch.num_roots]
        labels = targets[asked]
        mlm = masked_language_modeling_loss(self.mlm(roots, self.word_embeddings, asked), labels)
        # Spans never touch, so that hidden neighbours are one span.
        around = span_boundaries(torch.where(asked, 0, -1), batch.real[:, : batch.num_roots])
        spans = self.sbo(
            roots, self.word_embeddings, around.example, around.left, around.right, around.offset
        )
        return {"mlm": mlm, "sbo": span_boundary_loss(spans, labels)}

    def save(
        self,
        directory: str | Path,
        tokenizer: CodeTokenizer,
        dtype: torch.dtype | None = None,
        *,
        bits: int | None = None,
    ) -> None:
        """Write a checkpoint, atomically; with ``bits`` its matrices in bytes as fine as that."""
        save_compressed(directory, self, self.config, tokenizer.tokenizer, kind=KIND, dtype=dtype, bits=bits)

    @staticmethod
    def load(directory: str | Path) -> LeafyChainModel:
        """Read a checkpoint.

        Raises:
            CheckpointError: It is damaged, of another kind, or does not fit its configuration.
        """
        return load_filled(directory, _build, KIND)


def _build(values: Mapping[str, Any]) -> LeafyChainModel:
    return LeafyChainModel(ModelConfig.from_dict(values))


def _mean(values: Tensor) -> Tensor:
    """The mean, and a differentiable 0 of nothing."""
    return values.sum() / max(values.numel(), 1)
