"""Masked node modelling as the leafy chain's documents describe it: whole tails are hidden and predicted.

``weft kg train`` hides tails while it lays out leaves (:mod:`weft.kg.represent.sampling`); these are the plain form.
"""

from __future__ import annotations

import torch
from torch import Tensor

from weft.errors import DtypeError
from weft.objective.losses import masked_language_modeling_loss
from weft.objective.masking import Masked, MaskVocabulary, Split, check_shape, corrupt, maskable_tokens

ALL_MASKED = Split(1.0, 0.0, 0.0)


def mask_tails(
    input_ids: Tensor,
    tails: Tensor,
    vocabulary: MaskVocabulary,
    generator: torch.Generator,
    *,
    probability: float = 0.15,
    split: Split = ALL_MASKED,
) -> Masked:
    """Hide whole tails, each with the same probability (masked node modelling).

    Args:
        input_ids: int64, ``(batch, seq)``.
        tails: int64, ``(batch, seq)``: which tail of its example a position belongs to, −1 for roots
            and padding.
        vocabulary: Special ids are never hidden, in a tail neither.
        generator: Of the draws.
        probability: With which a tail is hidden.
        split: What happens to the chosen tails. All become mask tokens by default, as at extraction,
            where nothing of a tail is known.

    Returns:
        The corrupted ids, the labels and the units; a unit is a tail.

    Raises:
        ShapeError: Shapes that do not fit.
        DtypeError: Ids or tails that are not int64.
        ConfigError: A probability outside [0, 1], a split that does not sum to 1.

    Source: Belova et al. 2025, GraphMERT, masked node modelling.

    Differs from the spec: a tail is hidden whole and alone; its head's other leaves are other tails.
    """
    check_shape("tails", tails, input_ids)
    if tails.dtype != torch.int64:
        raise DtypeError(f"tails are {tails.dtype}; they must be torch.int64")
    in_tail = maskable_tokens(input_ids, vocabulary, tails >= 0, probability, split)
    rows = torch.arange(len(input_ids), device=input_ids.device)[:, None]
    # One number for each (example, tail): rows of as many tails as the largest id allows.
    keys = rows * (tails.max().clamp(min=0) + 1 if tails.numel() else 1) + tails
    found, which = keys[in_tail].unique(return_inverse=True)
    chosen = torch.rand(len(found), generator=generator, device=input_ids.device) < probability
    numbers = torch.where(chosen, chosen.cumsum(0) - 1, -1)
    units = torch.full_like(input_ids, -1)
    units[in_tail] = numbers[which]
    return corrupt(input_ids, units, vocabulary, split, generator)


def masked_node_modeling_loss(logits: Tensor, labels: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean cross-entropy over the tokens of masked tails: a mean of their own.

    A mean over roots and leaves together gives the few leaves next to no weight, so add this loss to the MLM loss
    rather than joining their labels.

    Args:
        logits: As in :func:`weft.objective.losses.masked_language_modeling_loss`.
        labels: Likewise; −100 on every root.
        mask: Likewise.

    Returns:
        A scalar; 0 with a graph where no tail is masked.

    Source: Belova et al. 2025, GraphMERT, masked node modelling.

    Differs from the spec: predicts the tail's tokens, not the relation type.
    """
    return masked_language_modeling_loss(logits, labels, mask)
