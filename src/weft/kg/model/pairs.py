"""States of entity pairs: products of their entities, the context both attend to, and each other."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.attention.operation import attend
from weft.kg.entity_config import PAIR_HEADS

DISTANCES = 10
"""Buckets of the distance between two entities: none in tokens 0, 1, 2–3, 4–7, …"""


class SharedContext(nn.Module):
    """The text that the leaves of both entities of a pair attend to.

    A_i = softmax_r((W_q z_i)·(W_k h_r) / √D), per head    a_ij ∝ Σ_heads A_i ⊙ A_j    c_ij = Σ_r a_ijr W_v h_r

    Args:
        hidden_size: Width of leaves and roots.
        size: Width of a context.

    Source:
        Zhou et al. 2021, ATLOP, §4.2, localized context pooling.

    Differs from the paper:
        The attention is the leaves' own, learnt for this; the paper takes the encoder's, of mention tokens.
    """

    def __init__(self, hidden_size: int, size: int) -> None:
        super().__init__()
        self.query = nn.Linear(hidden_size, size)
        self.key = nn.Linear(hidden_size, size)
        self.value = nn.Linear(hidden_size, size, bias=False)

    def forward(self, leaves: Tensor, roots: Tensor, real: Tensor) -> Tensor:
        """The contexts of all pairs.

        Args:
            leaves: ``(B, N, hidden)``.
            roots: ``(B, R, hidden)``.
            real: ``(B, R)`` bool.

        Returns:
            ``(B, N, N, size)``.
        """
        B, N, _ = leaves.shape
        query = self.query(leaves).unflatten(2, (PAIR_HEADS, -1)).transpose(1, 2)
        key = self.key(roots).unflatten(2, (PAIR_HEADS, -1)).transpose(1, 2)
        scores = (query @ key.transpose(2, 3)).float() * query.shape[3] ** -0.5
        weights = scores.masked_fill(~real[:, None, None], torch.finfo(torch.float32).min).softmax(dim=3)
        shared = torch.einsum("bhir,bhjr->bijr", weights, weights).view(B, N * N, -1)
        shared = shared / shared.sum(dim=2, keepdim=True).clamp(min=1e-9)
        value = self.value(roots)
        return (shared.to(value.dtype) @ value).view(B, N, N, -1)


class PairLayer(nn.Module):
    """Pairs attend to the pairs that share their head, then to those that share their tail.

    p_ht ← LN(p_ht + attend over (h, ·))    p_ht ← LN(p_ht + attend over (·, t))    p ← LN(p + FFN(p))

    So the pair (h, t) can learn from (h, k) and (k, t): a path of two edges in the graph of facts.

    Args:
        size: Width of a pair's state.
        dropout: Of every sum.
    """

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.ModuleList(nn.Linear(size, 3 * size) for _ in range(2))
        self.output = nn.ModuleList(nn.Linear(size, size) for _ in range(2))
        self.norm = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.wide = nn.Linear(size, 2 * size)
        self.narrow = nn.Linear(2 * size, size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, pairs: Tensor, there: Tensor) -> Tensor:
        """One round.

        Args:
            pairs: ``(B, N, N, size)``.
            there: ``(B, N, N)`` bool: which pairs exist.
        """
        for axis in range(2):
            turned = pairs if axis == 0 else pairs.transpose(1, 2)
            key_mask = there if axis == 0 else there.transpose(1, 2)
            B, N = turned.shape[:2]
            rows = self.project[axis](turned).reshape(B * N, N, 3, PAIR_HEADS, -1)
            query, key, value = rows.permute(2, 0, 3, 1, 4)
            # Thousands of maps of twenty by twenty: products in one piece beat every path made for long texts.
            attended, _ = attend(query, key, value, key_mask=key_mask.reshape(B * N, N), path="reference")
            update = self.output[axis](attended.transpose(1, 2).flatten(2).view(B, N, N, -1))
            turned = self.norm[axis](turned + self.dropout(update))
            pairs = turned if axis == 0 else turned.transpose(1, 2)
        return self.norm[2](pairs + self.dropout(self.narrow(F.gelu(self.wide(pairs)))))


class PairStates(nn.Module):
    """The state of a pair from its entities, their types, context and distance.

    u_i, v_i = tanh(W_u e_i + T_u type_i), tanh(W_v e_i + T_v type_i)
    p_ht     = LN(W_p (u_h ⊙ v_t) + u_h + v_t + c_ht + D distance_ht)

    Args:
        width: Width of an entity's features.
        num_types: Entity types.
        size: Width of u, v and p.
        distances: Whether distances enter.

    Differs from the paper:
        ATLOP multiplies blocks of 64 × 64 and sees the context inside of tanh; products of equal places cost
        a tenth of the time of a small model on a CPU.
    """

    def __init__(self, width: int, num_types: int, size: int, distances: bool) -> None:
        super().__init__()
        self.entity = nn.Linear(width, 2 * size)
        self.types = nn.Embedding(num_types, 2 * size)
        self.distance = nn.Embedding(2 * DISTANCES, size) if distances else None
        self.product = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)
        for table in (self.types, self.distance):
            if table is not None:
                nn.init.normal_(table.weight, std=0.02)

    def forward(self, entities: Tensor, types: Tensor, context: Tensor | None, distance: Tensor) -> Tensor:
        """States of all pairs.

        Args:
            entities: ``(B, N, width)``.
            types: ``(B, N)`` int64.
            context: ``(B, N, N, size)`` or None.
            distance: ``(B, N, N)`` int64 buckets, below ``2 * DISTANCES``.

        Returns:
            ``(B, N, N, size)``.
        """
        head, tail = torch.tanh(self.entity(entities) + self.types(types)).chunk(2, dim=2)
        head, tail = head[:, :, None], tail[:, None]
        pairs = self.product(head * tail) + head + tail
        if context is not None:
            pairs = pairs + context
        if self.distance is not None:
            pairs = pairs + self.distance(distance)
        return self.norm(pairs)


def distance_buckets(start: Tensor, owned: Tensor) -> Tensor:
    """The least distance of two entities' mentions, ⌊log₂(tokens + 1)⌋, and which of them stands first.

    Args:
        start: ``(B, M)`` int64, the first token of each mention.
        owned: ``(B, N, M)`` bool, which mentions are of which entity.

    Returns:
        ``(B, N, N)`` int64 below ``2 * DISTANCES``: in the upper half the tail stands first.
    """
    far = 1 << 20
    gap = start[:, None, :] - start[:, :, None]
    # From every entity to every mention, and from there to every entity: never (N, N, M, M).
    signed = []
    for sign in (1, -1):
        ahead = torch.where(sign * gap >= 0, sign * gap, far)
        near = torch.where(owned[..., None], ahead[:, None], far).amin(dim=2)
        signed.append(torch.where(owned[:, None], near[:, :, None], far).amin(dim=3))
    after, before = signed
    least = torch.minimum(after, before).clamp(max=(1 << (DISTANCES - 1)) - 1)
    bucket = torch.log2(least.float() + 1).long().clamp(max=DISTANCES - 1)
    return bucket + DISTANCES * (before < after)
