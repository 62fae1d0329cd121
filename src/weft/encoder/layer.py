"""One layer: self-attention and a feed-forward part, each with a residual and LayerNorm after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.attention.operation import Maps, Path, attend
from weft.attention.terms import Terms
from weft.encoder.config import EncoderConfig
from weft.encoder.initialisation import initialise
from weft.encoder.rotary import Rotation, rotate

Condition = Callable[[Tensor, Tensor, Tensor], Terms]
"""From a layer's input ``(batch, seq, hidden)`` and its query and key ``(batch, heads, seq, D)`` to terms."""

NeedMaps = bool | Literal["prefix"]


class KeyValue(NamedTuple):
    """Keys and values from outside a layer, ``(batch, heads, key, D)`` each; keys are turned already."""

    key: Tensor
    value: Tensor

    def after(self, earlier: KeyValue) -> KeyValue:
        """Both, the earlier ones first."""
        return KeyValue(*(torch.cat(pair, dim=2) for pair in zip(earlier, self, strict=True)))


Memory = KeyValue | Callable[[Tensor], Tensor]
"""What a layer attends to instead of its own input: keys and values, or whatever answers its queries
``(batch, heads, seq, D)`` with as many states."""


class SelfAttention(nn.Module):
    """Multi-head self-attention with the terms of a conditioner.

    output = W_O · merge(attend(split(W_Q x), split(W_K x), split(W_V x); terms))

    Args:
        config: The encoder's configuration.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads = config.num_attention_heads
        self.dropout_p = config.attention_probs_dropout_prob
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)
        initialise(self, config.initializer_range)

    def forward(
        self,
        hidden: Tensor,
        key_mask: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        memory: Memory | None = None,
        condition: Condition | None = None,
        turn: Rotation | None = None,
        need_maps: NeedMaps = False,
        path: Path = "auto",
    ) -> tuple[Tensor, Maps | None]:
        """Attend.

        Args:
            hidden: ``(batch, seq, hidden)``.
            key_mask: ``(batch, key)`` bool; True = attend.
            mask: ``(batch | 1, heads | 1, query, key)`` bool.
            memory: What is attended to instead of ``hidden``: keys and values from elsewhere (with those of
                ``hidden`` among them where it is to see itself, see :meth:`key_value`), or what answers
                queries by itself; masks and terms are then its own business.
            condition: Gives the terms of this layer; it sees query and key before any rotation.
            turn: The rotation of rotary positions.
            need_maps: Whether to return the maps, or only the weight on the prefix.
            path: See :func:`weft.attention.attend`.

        Returns:
            ``(batch, seq, hidden)`` and the maps, where they were asked for.
        """
        query = self._split(self.query(hidden))
        if callable(memory):
            attended, maps = memory(query if turn is None else rotate(query, turn)), None
            return self.output(attended.transpose(1, 2).flatten(2)), maps
        key, value = self.key_value(hidden) if memory is None else memory
        terms = condition(hidden, query, key) if condition is not None else None
        if turn is not None:
            query, key = rotate(query, turn), key if memory is not None else rotate(key, turn)
        attended, maps = attend(
            query,
            key,
            value,
            key_mask=key_mask,
            mask=mask,
            terms=terms,
            dropout_p=self.dropout_p if self.training else 0.0,
            path=path,
            need_maps=need_maps,
        )
        return self.output(attended.transpose(1, 2).flatten(2)), maps

    def key_value(self, hidden: Tensor, turn: Rotation | None = None) -> KeyValue:
        """Keys and values of ``(batch, seq, hidden)``, keys turned where a rotation is given."""
        key, value = self._split(self.key(hidden)), self._split(self.value(hidden))
        return KeyValue(key if turn is None else rotate(key, turn), value)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)


class EncoderLayer(nn.Module):
    """One post-LayerNorm layer.

    y = LayerNorm(x + dropout(attention(x)))
    z = LayerNorm(y + dropout(W_2 · GELU(W_1 · y)))        GELU(u) = u · Φ(u), with erf

    Args:
        config: The encoder's configuration.

    Source:
        Vaswani et al. 2017, sections 3.1–3.3; Devlin et al. 2019 for GELU.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.attention = SelfAttention(config)
        self.attention_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.intermediate = nn.Linear(config.hidden_size, config.intermediate_size)
        self.output = nn.Linear(config.intermediate_size, config.hidden_size)
        self.output_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        initialise(self.intermediate, config.initializer_range)
        initialise(self.output, config.initializer_range)

    def forward(
        self,
        hidden: Tensor,
        key_mask: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        memory: Memory | None = None,
        condition: Condition | None = None,
        turn: Rotation | None = None,
        need_maps: NeedMaps = False,
        path: Path = "auto",
    ) -> tuple[Tensor, Maps | None]:
        """Run the layer; arguments and returns as :meth:`SelfAttention.forward`."""
        attended, maps = self.attention(
            hidden,
            key_mask,
            mask,
            memory=memory,
            condition=condition,
            turn=turn,
            need_maps=need_maps,
            path=path,
        )
        return self.after_attention(hidden, attended), maps

    def after_attention(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """What the layer makes of its input and of what it attended to, ``(…, hidden)`` each: row by row."""
        hidden = self.attention_norm(hidden + self.dropout(attended))
        expanded = F.gelu(self.intermediate(hidden))
        return self.output_norm(hidden + self.dropout(self.output(expanded)))
