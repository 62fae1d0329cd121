"""What a text judges, token by token: tags of aspect terms and of the words that judge them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import cast

import torch.nn.functional as F
from torch import Tensor, nn

from weft.encoder.config import EncoderConfig
from weft.encoder.layer import Condition, EncoderLayer

TAGS = ("O", "B-term", "I-term", "B-opinion", "I-opinion")
"""BIO: a span begins with B and goes on with I."""
TERM_TAGS = 3
"""Of a text whose judging words nobody marked, only the first three are known; the others are one with O."""


class TermTagger(nn.Module):
    """BIO tags from layers of its own above the encoder's frozen ones.

    ::

        logits = W·layers(h) + b

    Args:
        config: The encoder's configuration.
        layers: The pretrained layers above the frozen ones; their copies are where it starts.
    """

    def __init__(self, config: EncoderConfig, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(copy.deepcopy(layer) for layer in layers)
        self.head = nn.Linear(config.hidden_size, len(TAGS))
        nn.init.normal_(self.head.weight, std=config.initializer_range)
        nn.init.zeros_(self.head.bias)

    def forward(self, hidden: Tensor, attention_mask: Tensor, positions: Condition | None = None) -> Tensor:
        """Logits ``(texts, seq, tags)`` from what the frozen layers made of a text, ``(texts, seq, hidden)``.

        ``positions`` is the encoder's relative bias, where it has one.
        """
        for layer in self.layers:
            hidden, _ = cast(EncoderLayer, layer)(hidden, attention_mask, condition=positions)
        return self.head(hidden)


def tag_loss(logits: Tensor, tags: Tensor, complete: Tensor) -> Tensor:
    """Mean cross-entropy over the tagged tokens.

    Where judging words are not marked, a token outside of all terms may be one: P(O) is then the sum over O and these.

    Args:
        logits: ``(texts, seq, tags)``.
        tags: ``(texts, seq)`` numbers of :data:`TAGS`; below 0 a token that does not count.
        complete: ``(texts,)`` bool, whether judging words are marked, too.
    """
    shares = F.log_softmax(logits, dim=-1)
    outside = shares[..., [0, *range(TERM_TAGS, len(TAGS))]].logsumexp(dim=-1)
    gold = shares.gather(2, tags.clamp(min=0)[..., None]).squeeze(-1)
    unknown = ~complete[:, None] & (tags == 0)
    counted = tags >= 0
    return -(unknown.logical_not() * gold + unknown * outside)[counted].mean()
