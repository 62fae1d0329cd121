"""Roots encoded once: what leaves attend to while their tails are spelled."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from weft.attention.attend import attend
from weft.encoder.layer import EncoderLayer
from weft.encoder.rotary import Rotation, rotate, rotation
from weft.errors import ConfigError
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.batch import ChainBatch


@dataclass(frozen=True)
class RootMemory:
    """What a one-way model makes of the roots: no leaf changes it.

    Args:
        hidden: ``(B, R, hidden)``, the last hidden states.
        layers: Keys and values of every layer, ``(B, heads, R, D)`` each, keys turned to their positions.
    """

    hidden: Tensor
    layers: tuple[tuple[Tensor, Tensor], ...]


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
    R = batch.num_roots
    hidden = model(batch, layers=slice(0, 0))[:, :R]
    turn = turn_of(model, batch.root[:, :R], hidden)
    mask = batch.real[:, None, None, :R]
    layers = []
    for layer in encoder_layers(model):
        key, value = key_value(layer, hidden, turn)
        hidden = step(layer, hidden, key, value, mask, turn)
        layers.append((key, value))
    return RootMemory(hidden, tuple(layers))


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
    for layer, (root_key, root_value) in zip(encoder_layers(model), memory.layers, strict=True):
        key, value = key_value(layer, hidden, turn)
        key, value = torch.cat([root_key, key], dim=2), torch.cat([root_value, value], dim=2)
        hidden = step(layer, hidden, key, value, mask, turn)
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


def key_value(layer: EncoderLayer, hidden: Tensor, turn: Rotation | None) -> tuple[Tensor, Tensor]:
    """Keys and values of a layer, ``(B, heads, seq, D)`` each, keys turned to their positions."""
    key, value = (_split(layer, project(hidden)) for project in (layer.attention.key, layer.attention.value))
    return key if turn is None else rotate(key, turn), value


def step(
    layer: EncoderLayer, hidden: Tensor, key: Tensor, value: Tensor, mask: Tensor, turn: Rotation | None
) -> Tensor:
    """One layer of the encoder without dropout, with keys and values from elsewhere."""
    query = _split(layer, layer.attention.query(hidden))
    query = query if turn is None else rotate(query, turn)
    attended, _ = attend(query, key, value, mask=mask.expand(-1, -1, query.shape[2], -1))
    return after_attention(layer, hidden, attended.transpose(1, 2).flatten(2))


def after_attention(layer: EncoderLayer, hidden: Tensor, attended: Tensor) -> Tensor:
    """What a layer makes of its input and of what it attended to, both ``(..., hidden)``."""
    hidden = layer.attention_norm(hidden + layer.attention.output(attended))
    return layer.output_norm(hidden + layer.output(F.gelu(layer.intermediate(hidden))))


def _split(layer: EncoderLayer, x: Tensor) -> Tensor:
    return x.unflatten(2, (layer.attention.heads, -1)).transpose(1, 2)
