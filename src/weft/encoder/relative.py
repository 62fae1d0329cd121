"""Relative positions: one bias per head and distance, shared by all layers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from weft.attention.terms import Decay


class RelativeBias(nn.Module):
    """A learnt bias on the scores that depends on how far apart two tokens are, and on which side.

    S_h(i, j) = q_i · k_j · D^-½ + b_h(bucket(j − i))

    Half of the buckets are for tokens before the query, half for those after it. Of each half the first half
    holds one distance each; the rest grow with the logarithm of the distance, up to ``max_distance``, which the
    last one holds together with all that is farther.

    Args:
        buckets: Number of buckets, a multiple of 4.
        heads: Attention heads.
        max_distance: The distance from which on all are alike.

    Source:
        Raffel et al. 2020, "Exploring the Limits of Transfer Learning", section 2.1; Song et al. 2020, MPNet.

    Differs from the paper:
        Given to attention as a decay on weights with the factor e^b, which is the same sum.
    """

    def __init__(self, buckets: int, heads: int, max_distance: int) -> None:
        super().__init__()
        self.buckets = buckets
        self.max_distance = max_distance
        self.bias = nn.Embedding(buckets, heads)

    def forward(self, length: int) -> Decay:
        """The factor e^b, ``(1, heads, query, key)``, for ``length`` tokens; in float32 at least.

        Half precision ends at e^11, which biases of published models may pass.
        """
        position = torch.arange(length, device=self.bias.weight.device)
        bias = self.bias(self.bucket(position[None, :] - position[:, None]))
        bias = bias.to(torch.promote_types(bias.dtype, torch.float32))
        return Decay(bias.permute(2, 0, 1)[None].exp(), "weights")

    def bucket(self, offset: Tensor) -> Tensor:
        """The bucket of every offset j − i, int64, of any shape."""
        half, exact = self.buckets // 2, self.buckets // 4
        distance = offset.abs()
        # In float32 and in this order, as the published models were trained: a bucket's edge must not move.
        ratio = torch.log(distance.clamp(min=1).float() / exact) / math.log(self.max_distance / exact)
        far = (exact + (ratio * (half - exact)).long()).clamp(max=half - 1)
        return torch.where(distance < exact, distance, far) + half * (offset > 0)
