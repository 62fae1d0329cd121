"""Roots encoded once: what leaves attend to while their tails are spelled."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from weft.encoder.layer import EncoderLayer, KeyValue
from weft.encoder.rotary import Rotation, rotation
from weft.errors import ConfigError
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.batch import ChainBatch


@dataclass(frozen=True)
class RootMemory:
    """What a one-way model makes of the roots: no leaf changes it.

    Leaves that are shown stand after the roots: no leaf that is asked changes them either.

    Args:
        hidden: ``(B, S, hidden)``, the last hidden states.
        layers: Keys and values of every layer, ``(B, heads, S, D)`` each, keys turned to their positions.
        ids: ``(B, S)`` int64, their tokens.
        real: ``(B, S)`` bool.
        head: ``(B, S)`` int64, the root that a shown leaf hangs from; −1 of roots.
    """

    hidden: Tensor
    layers: tuple[KeyValue, ...]
    ids: Tensor
    real: Tensor
    head: Tensor


def can_remember(model: LeafyChainModel) -> bool:
    """Whether the roots can be encoded apart: one way, and no decay between roots and leaves."""
    return model.config.one_way and model.config.decay == "none"


@torch.no_grad()
def remember(model: LeafyChainModel, batch: ChainBatch) -> RootMemory:
    """Encode the roots of a batch.

    Args:
        model: In eval mode.
        batch: With any leaves; they are not looked at.

    Raises:
        ConfigError: Roots of this model cannot be encoded apart.
    """
    if not can_remember(model):
        raise ConfigError("roots are encoded apart from leaves only one way and without decay")
    hidden = batch.beside_leaves(model(batch, layers=slice(0, 0)))
    root = batch.beside_leaves(batch.root)
    turn = turn_of(model, root, hidden)
    mask = batch.beside_leaves(batch.beside_leaves(batch.one_way()[:, 0]).transpose(1, 2)).transpose(1, 2)
    layers = []
    for layer in encoder_layers(model):
        layers.append(layer.attention.key_value(hidden, turn))
        hidden, _ = layer(hidden, mask=mask[:, None], memory=layers[-1], turn=turn)
    head = torch.where(batch.beside_leaves(batch.slot) >= 0, root, -1)
    ids, real = batch.beside_leaves(batch.input_ids), batch.beside_leaves(batch.real)
    return RootMemory(hidden, tuple(layers), ids, real, head)


@torch.no_grad()
def encode_leaves(model: LeafyChainModel, batch: ChainBatch, memory: RootMemory) -> Tensor:
    """Hidden states ``(B, N, hidden)`` as ``model(batch)`` gives them, the roots' from memory.

    Args:
        model: In eval mode.
        batch: With the roots that were remembered.
        memory: From :func:`remember`.
    """
    R = batch.num_roots
    hidden = model(batch, layers=slice(0, 0))[:, R:]
    turn = turn_of(model, batch.root[:, R:], hidden)
    mask = batch.one_way(model.config.decoding == "causal")[:, :, R:]
    for layer, roots in zip(encoder_layers(model), memory.layers, strict=True):
        seen = layer.attention.key_value(hidden, turn).after(roots)
        hidden, _ = layer(hidden, mask=mask, memory=seen, turn=turn)
    return torch.cat([memory.hidden, hidden], dim=1)


def encoder_layers(model: LeafyChainModel) -> list[EncoderLayer]:
    """The layers of a model's encoder."""
    return list(model.encoder.layers)  # type: ignore[arg-type]  # nn.ModuleList loses the type


def turn_of(model: LeafyChainModel, positions: Tensor, hidden: Tensor) -> Rotation | None:
    """How keys and queries at positions ``(batch, seq)`` are turned; None without rotary positions."""
    config = model.config.encoder
    if config.position != "rotary":
        return None
    return rotation(positions, config.head_size, config.rotary_base, hidden.dtype)
