"""Distances in leafy chain graphs: a chain of root tokens, each with rows of leaves for the tails of triples.

    edges, undirected: root i – root i+1,  root i – leaf (i, k),  leaf (i, k) – leaf (i, k+1)

Source:
    GraphMERT (Belova et al., 2025), section 4; the leafy chain design.

Differs from the spec:
    Distances follow the chain. The design's "roots that share a leaf, otherwise infinity" makes every
    root-to-root logit zero.
"""

from __future__ import annotations

import torch
from torch import Tensor


def chain_distances(root: Tensor, slot: Tensor, group: Tensor) -> Tensor:
    """Graph distances between the tokens of a leafy chain graph, in closed form.

        d(root i, root j)           = |i − j|
        d(root i, leaf (j, k))      = |i − j| + 1
        d(leaf (i, k), leaf (j, l)) = |i − j| + 2, and min(|k − l|, 2) within one leaf group

    Args:
        root: ``(..., n)`` int64, the root that a token is or hangs from.
        slot: ``(..., n)`` int64, leaf slot; −1 for roots.
        group: ``(..., n)`` int64, leaf group; −1 for roots.

    Returns:
        ``(..., n, n)`` int64.
    """
    leaf = (slot >= 0).to(root.dtype)
    far = (root.unsqueeze(-1) - root.unsqueeze(-2)).abs() + leaf.unsqueeze(-1) + leaf.unsqueeze(-2)
    near = (slot.unsqueeze(-1) - slot.unsqueeze(-2)).abs().clamp(max=2)
    together = (group.unsqueeze(-1) == group.unsqueeze(-2)) & (slot >= 0).unsqueeze(-1)
    return torch.where(together, near, far)
