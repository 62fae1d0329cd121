"""Rotary positions: queries and keys turned by angles that grow with the position."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Rotation(NamedTuple):
    """Cosines and sines of the angles, each ``(batch | 1, 1, seq, D / 2)``."""

    cos: Tensor
    sin: Tensor


def rotation(
    position_ids: Tensor, head_size: int, base: float, dtype: torch.dtype = torch.float32
) -> Rotation:
    """The angles θ_{p,i} = p · base^(−2i / D) of every position p and pair i.

    Args:
        position_ids: ``(batch | 1, seq)``.
        head_size: D, even.
        base: Base of the wavelengths.
        dtype: Dtype of the hidden states; half precision is computed in float32, which tells far positions apart.
    """
    accurate = torch.promote_types(dtype, torch.float32)
    exponent = torch.arange(0, head_size, 2, device=position_ids.device, dtype=accurate) / head_size
    angles = position_ids[:, None, :, None].to(accurate) * base**-exponent
    return Rotation(angles.cos(), angles.sin())


def rotate(x: Tensor, turn: Rotation) -> Tensor:
    """Turn each pair (x_i, x_{i + D/2}) by its angle, so that a product of two depends on their distance.

    x'_i = x_i cos θ_i − x_{i+D/2} sin θ_i        x'_{i+D/2} = x_{i+D/2} cos θ_i + x_i sin θ_i

    Args:
        x: ``(batch, heads, seq, D)``.
        turn: From :func:`rotation`.

    Returns:
        ``(batch, heads, seq, D)``, in the dtype of ``x``.

    Source:
        Su et al. 2021, RoFormer, equation 34.

    Differs from the paper:
        Pairs are (i, i + D/2) instead of (2i, 2i + 1): a permutation of the columns, cheaper to compute.
    """
    first, second = x.chunk(2, dim=-1)
    turned = torch.cat([first * turn.cos - second * turn.sin, second * turn.cos + first * turn.sin], dim=-1)
    return turned.to(x.dtype)
