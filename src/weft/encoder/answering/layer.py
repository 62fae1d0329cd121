"""Encoder layers for answers only: they multiply in eight bits or bfloat16 and keep nothing to differentiate."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.encoder.answering.product import (
    Arithmetic,
    BlockedLinear,
    FeedForward,
    blocks,
    by_blocks,
    product,
)
from weft.encoder.layer import EncoderLayer

# A softmax over fewer keys than a vector register holds is computed one by one.
_FEW_KEYS = 16
# From here on the scores of a text fill the cache, and the fused form, which never holds them all, is faster.
_MANY_KEYS = 64


class AnsweringLayer(nn.Module):
    """An encoder layer in ``eval`` mode without conditioner, its products in another arithmetic.

    What treats every token for itself runs in blocks of rows. Its attention has the equations of
    :class:`weft.encoder.layer.SelfAttention`, but query, key and value come from one product, and D^-½ is part
    of the query's weights.

    Args:
        layer: The layer that it stands for.
        arithmetic: How it multiplies.
    """

    def __init__(self, layer: EncoderLayer, arithmetic: Arithmetic) -> None:
        super().__init__()
        attention = layer.attention
        self.heads = attention.heads
        scale = (attention.query.out_features // self.heads) ** -0.5
        parts = (attention.query, attention.key, attention.value)
        weights, biases = ([getattr(part, name).detach() for part in parts] for name in ("weight", "bias"))
        weights[0], biases[0] = weights[0] * scale, biases[0] * scale
        self.query_key_value = product(torch.cat(weights), torch.cat(biases), arithmetic)
        self.merge = product(attention.output.weight, attention.output.bias, arithmetic)
        self.feed_forward = FeedForward(layer.intermediate, layer.output, arithmetic)
        self.attention_norm, self.output_norm = layer.attention_norm, layer.output_norm

    def forward(
        self, hidden: Tensor, key_mask: Tensor | None = None, mask: None = None, **_none: object
    ) -> tuple[Tensor, None]:
        """Run the layer.

        Args:
            hidden: ``(batch, seq, hidden)``.
            key_mask: ``(batch, seq)`` bool.
            mask: None, as all that is left: these models have no patterns, no terms and keep no maps here.
        """
        batch, length, size = hidden.shape
        rows = hidden.reshape(-1, size)
        split = by_blocks(self.query_key_value, rows).view(batch, length, 3, self.heads, -1)
        # One pass lays them as the batched products read them and makes float32 of them.
        query, key, value = rows.new_empty(3, batch, self.heads, length, split.shape[-1]).copy_(
            split.permute(2, 0, 3, 1, 4)
        )
        attended = self._attend(query, key, value, key_mask).transpose(1, 2)
        merged = attended.new_empty(attended.shape, dtype=self.merge.takes).copy_(attended).view(-1, size)
        found = [
            self._after_attention(block, self.merge(part).float())
            for block, part in zip(blocks(rows), blocks(merged), strict=True)
        ]
        return torch.cat(found)[: len(rows)].view(batch, length, size), None

    def _after_attention(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """As :meth:`weft.encoder.layer.EncoderLayer.after_attention` in ``eval`` mode, ``(rows, hidden)``."""
        hidden = self.attention_norm(hidden + attended)
        return self.output_norm(hidden + self.feed_forward(hidden))

    def _attend(self, query: Tensor, key: Tensor, value: Tensor, key_mask: Tensor | None) -> Tensor:
        """softmax(Q·Kᵀ)·V, ``(batch, heads, seq, D)``: two batched products beat the fused one in between."""
        bias = None
        if key_mask is not None:
            bias = query.new_zeros(key_mask.shape).masked_fill_(~key_mask, float("-inf"))[:, None, None]
        if not _FEW_KEYS <= query.shape[2] < _MANY_KEYS:
            return F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0)
        scores = query @ key.transpose(2, 3)
        if bias is not None:
            scores += bias
        weights = torch.softmax(scores, dim=-1)
        if key_mask is not None:
            # A row that sees no key gives 0, as in attend().
            weights = weights.masked_fill_(~key_mask.any(dim=1)[:, None, None, None], 0.0)
        return weights @ value


def convert_stack(layers: nn.ModuleList, arithmetic: Arithmetic) -> None:
    """Put answering layers in the place of the layers of a stack."""
    for index, layer in enumerate(layers):
        layers[index] = AnsweringLayer(cast(EncoderLayer, layer), arithmetic)


def convert_products(layer: EncoderLayer, arithmetic: Arithmetic) -> None:
    """Replace the linear maps of a layer whose forward is called with patterns, memory or another's."""
    for name in ("query", "key", "value", "output"):
        part = getattr(layer.attention, name)
        setattr(layer.attention, name, BlockedLinear(part, arithmetic))
    layer.intermediate = cast(nn.Linear, BlockedLinear(layer.intermediate, arithmetic))
    layer.output = cast(nn.Linear, BlockedLinear(layer.output, arithmetic, after_gelu=True))
