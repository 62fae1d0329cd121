"""How sure an answer is, by the temperature of the model and the length of the text."""

from __future__ import annotations

import torch
from torch import Tensor

from weft.absa.config import AbsaConfig
from weft.absa.represent.batch import Pairs, Questions

SHORT = 48
"""Word pieces of a text up to which its length does not make an answer less sure."""


def flattened(logits: Tensor, factor: Tensor) -> Tensor:
    """Probabilities whose odds are drawn towards even ones, those of an opinion and those among opinions.

    ::

        P(opinion) = sigmoid((logsumexp z_opinions − z_none) / L)
        P(c)       = P(opinion)·softmax(z_opinions / L)_c

    With L = 1 it is the softmax. Dividing all of z by L would lend an opinion weight by the number of its classes.

    Args:
        logits: ``(contexts, classes)``, z, ``none`` first.
        factor: ``(contexts, 1)``, L ≥ 1.
    """
    opinions = logits[:, 1:]
    odds = (opinions.logsumexp(dim=1, keepdim=True) - logits[:, :1]) / factor
    return torch.cat(
        [torch.sigmoid(-odds), torch.sigmoid(odds) * torch.softmax(opinions / factor, dim=1)], dim=1
    )


def shares(logits: Tensor, batch: Questions | Pairs, config: AbsaConfig) -> Tensor:
    """Probabilities of a batch's logits.

    softmax(z / T) with T the configuration's ``temperature``; with a ``length_power`` p above 0 :func:`flattened` by
    L = max(1, n/48)^p, n the word pieces of the question's text.

    Args:
        logits: ``(contexts, classes)``, z.
        batch: The questions.
        config: The model's.

    Returns:
        ``(contexts, classes)``, float64.
    """
    scaled = logits.double() / config.temperature
    if not config.length_power:
        return torch.softmax(scaled, dim=-1)
    read = batch.attention_mask.sum(dim=1, keepdim=True).double()
    read = read[batch.context_text] if isinstance(batch, Questions) else read
    return flattened(scaled, (read / SHORT).clamp(min=1) ** config.length_power)
