"""From the tokens' hidden states to one vector per sequence."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from weft.encoder.checks import check_attention_mask
from weft.encoder.config import EncoderConfig
from weft.encoder.initialisation import initialise
from weft.errors import ConfigError

Pooling = Literal["cls", "mean", "gate"]
"""Names of poolers: see :func:`build_pooler`."""


class ClsPooler(nn.Module):
    """The first token through a tanh layer.

    pooled = tanh(W h_0 + b)

    Args:
        config: The encoder's configuration.

    Source:
        Devlin et al. 2019, BERT.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        initialise(self, config.initializer_range)

    def forward(self, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Pool ``(batch, seq, hidden)`` to ``(batch, hidden)``; the first token is taken, masked or not."""
        return torch.tanh(self.dense(hidden[:, 0]))


class MeanPooler(nn.Module):
    """The mean of the real tokens; 0 where there is none.

    pooled = Σ_i m_i h_i / max(Σ_i m_i, 1)
    """

    def forward(self, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Pool ``(batch, seq, hidden)`` under the boolean mask ``(batch, seq)`` to ``(batch, hidden)``."""
        if attention_mask is None:
            return hidden.mean(dim=1)
        check_attention_mask(attention_mask, hidden.shape[0], hidden.shape[1])
        # masked_fill instead of a product: NaN · 0 of an unseen token would be NaN.
        total = hidden.masked_fill(~attention_mask[..., None], 0.0).sum(dim=1)
        return total / attention_mask.sum(dim=1, keepdim=True).clamp(min=1).to(hidden.dtype)


class GatePooler(nn.Module):
    """A learnt weight per token, then a tanh layer.

    a = softmax over real tokens of (w₂ · dropout(ReLU(W₁ h_i)))        pooled = tanh(W Σ_i a_i h_i + b)

    Args:
        config: The encoder's configuration.
        width: Width of the gate's hidden layer.

    Source:
        The QACG-BERT review, ``ContextBERTPooler``.

    Differs from the spec:
        A row without a real token pools 0 instead of the average of its padding, and the mask is boolean
        instead of −1e9, which overflows half precision.
    """

    def __init__(self, config: EncoderConfig, width: int = 32) -> None:
        super().__init__()
        self.attention_gate = nn.Sequential(
            nn.Linear(config.hidden_size, width),
            nn.ReLU(),
            nn.Dropout(config.hidden_dropout_prob),
            nn.Linear(width, 1),
        )
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        initialise(self, config.initializer_range)

    def forward(self, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """Pool ``(batch, seq, hidden)`` under the boolean mask ``(batch, seq)`` to ``(batch, hidden)``."""
        weights = self.weights(hidden, attention_mask)
        return torch.tanh(self.dense(torch.einsum("bs,bsh->bh", weights, hidden)))

    def weights(self, hidden: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        """The weight of each token, ``(batch, seq)``; rows sum to 1, or to 0 without a real token."""
        scores = self.attention_gate(hidden).squeeze(-1)
        if attention_mask is None:
            return torch.softmax(scores, dim=1)
        check_attention_mask(attention_mask, hidden.shape[0], hidden.shape[1])
        # The lowest finite score keeps an all-padding row free of NaN; the second fill then empties it.
        lowest = torch.finfo(scores.dtype).min
        weights = torch.softmax(scores.masked_fill(~attention_mask, lowest), dim=1)
        return weights.masked_fill(~attention_mask, 0.0)


def build_pooler(pooling: Pooling, config: EncoderConfig) -> ClsPooler | MeanPooler | GatePooler:
    """The pooler of that name.

    Raises:
        ConfigError: Another name.
    """
    match pooling:
        case "cls":
            return ClsPooler(config)
        case "mean":
            return MeanPooler()
        case "gate":
            return GatePooler(config)
        case _:
            raise ConfigError(f"pooling is {pooling!r}; it must be one of {', '.join(get_args(Pooling))}")
