"""How sure an answer is, by the temperature of the model and the length of the text."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.absa.config import AbsaConfig
from weft.absa.represent.batch import Pairs, Questions

Floats = NDArray[np.float64]
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


def reheated(probabilities: Floats, factor: Floats, ratio: float) -> Floats:
    """The probabilities that :func:`flattened` gives at another temperature, z / ``ratio``, from those of z.

    With z_none = 0 it is turned round:  z_c = L·log P(c)/P(opinion) − logsumexp_c(…) + L·log P(opinion)/P(none).

    Args:
        probabilities: ``(…, classes)``, ``none`` first.
        factor: ``(…)``, L.
        ratio: The other temperature, in this one.
    """
    logs = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    by = factor[..., None]
    among = logs[..., 1:]
    opinion = np.logaddexp.reduce(among, axis=-1, keepdims=True)
    within = by * (among - opinion)
    odds = by * (opinion - logs[..., :1])
    z = (within - np.logaddexp.reduce(within, axis=-1, keepdims=True) + odds) / ratio
    odds = np.logaddexp.reduce(z, axis=-1, keepdims=True) / by
    within = z / by
    within = within - np.logaddexp.reduce(within, axis=-1, keepdims=True)
    silent, judged = -np.logaddexp(0, odds), -np.logaddexp(0, -odds)
    return np.exp(np.concatenate([silent, judged + within], axis=-1))


def by_length(batch: Questions | Pairs, config: AbsaConfig) -> Tensor:
    """L = max(1, n/48)^p of every question, n the word pieces of its text: ``(contexts, 1)``, float64."""
    read = batch.attention_mask.sum(dim=1, keepdim=True).double()
    read = read[batch.context_text] if isinstance(batch, Questions) else read
    return (read / SHORT).clamp(min=1) ** config.length_power


def shares(logits: Tensor, batch: Questions | Pairs, config: AbsaConfig) -> Tensor:
    """Probabilities of a batch's logits.

    softmax(z / T) with T the configuration's ``temperature``; with a ``length_power`` p above 0 :func:`flattened` by
    L of :func:`by_length`.

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
    return flattened(scaled, by_length(batch, config))
