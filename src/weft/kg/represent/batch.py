"""A batch of compact leafy chain graphs as tensors: root columns first, then leaf columns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from weft.graph.chain import chain_distances
from weft.graph.triples import Triples

IGNORED = -100
"""Target of a position that is not predicted."""


@dataclass(frozen=True)
class ChainBatch:
    """B chunks with their leaf groups; N = R' + L columns, of which the first R' are roots.

    A *group* is the leaves of one triple. Groups of a chunk stand one after the other in its leaf columns.

    Args:
        num_roots: R', the number of root columns.
        input_ids: ``(B, N)`` int64.
        real: ``(B, N)`` bool, False on padding.
        root: ``(B, N)`` int64, the root that a token is or hangs from.
        slot: ``(B, N)`` int64, leaf slot; −1 for roots.
        group: ``(B, N)`` int64, leaf group; −1 for roots and padding.
        tail_targets: ``(B, N)`` int64, the token to predict at a leaf, or −100.
        copyable: ``(B, N)`` bool: the target stands in the roots as part of the tail.
        root_targets: ``(B, N)`` int64, the token to predict at a masked root, or −100.
        example: ``(T,)`` int64, row of each triple.
        relation: ``(T,)`` int64.
        head_start: ``(T,)`` int64, column of the head's first token.
        head_length: ``(T,)`` int64.
        tail_start: ``(T,)`` int64, column of the first leaf.
        tail_length: ``(T,)`` int64, number of leaves.
        num_given: Columns at the end whose leaves are shown, not asked.
    """

    num_roots: int
    input_ids: Tensor
    real: Tensor
    root: Tensor
    slot: Tensor
    group: Tensor
    tail_targets: Tensor
    copyable: Tensor
    root_targets: Tensor
    example: Tensor
    relation: Tensor
    head_start: Tensor
    head_length: Tensor
    tail_start: Tensor
    tail_length: Tensor
    num_given: int = 0

    def triples(self) -> Triples:
        """The triples as positions, for the fusion of relations."""
        return Triples.from_spans(
            self.example, self.relation, self.head_start, self.head_length, self.tail_start, self.tail_length
        )

    def distances(self) -> Tensor:
        """Graph distances ``(B, N, N)``; those of padding are −1."""
        distances = chain_distances(self.root, self.slot, self.group)
        return torch.where(self.real[:, :, None] & self.real[:, None, :], distances, -1)

    def one_way(self, causal: bool = True) -> Tensor:
        """The pattern in which roots ignore leaves and leaf groups ignore each other, ``(B, 1, N, N)`` bool.

        Leaves that are asked see what is shown of their head.

        Args:
            causal: Whether a leaf sees only the slots of its group up to its own.
        """
        leaf = self.slot >= 0
        inside = leaf[:, :, None] & (self.group[:, :, None] == self.group[:, None, :])
        if causal:
            inside = inside & (self.slot[:, :, None] >= self.slot[:, None, :])
        if self.num_given:
            given = torch.arange(leaf.shape[1], device=leaf.device) >= leaf.shape[1] - self.num_given
            of_head = self.root[:, :, None] == self.root[:, None, :]
            inside = inside | ((leaf & ~given)[:, :, None] & (leaf & given)[:, None, :] & of_head)
        return torch.where(leaf[:, None, :], inside, True)[:, None] & self.real[:, None, None, :]

    def beside_leaves(self, values: Tensor) -> Tensor:
        """Of values ``(B, N, ...)`` those of the roots and of the leaves that are shown, ``(B, S, ...)``."""
        roots = values[:, : self.num_roots]
        return torch.cat([roots, values[:, -self.num_given :]], dim=1) if self.num_given else roots

    def readable(self, heads: Tensor) -> Tensor:
        """Which of the columns beside leaves a leaf may read, ``(B, 1 or L, S)`` bool.

        Args:
            heads: ``(B, L)`` int64, the root that each leaf hangs from.
        """
        roots = self.real[:, None, : self.num_roots]
        if not self.num_given:
            return roots
        given = self.real[:, None, -self.num_given :] & (
            self.root[:, None, -self.num_given :] == heads[:, :, None]
        )
        return torch.cat([roots.expand(-1, heads.shape[1], -1), given], dim=2)


def pack(lengths: Tensor, columns: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Lay groups one after the other into at most ``columns`` leaf columns, whole groups only.

    Args:
        lengths: ``(B, M)`` int64, leaves of each candidate group; 0 where there is none.
        columns: L.

    Returns:
        ``kept (B, M)`` bool; ``start (B, M)`` int64, first leaf column of each; ``group (B, L)`` int64, the
        group in each column, −1 where empty; ``slot (B, L)`` int64, −1 where empty.
    """
    ends = lengths.cumsum(dim=1)
    # Groups after one that does not fit are left out too: ends only grow.
    kept = (ends <= columns) & (lengths > 0)
    start = ends - lengths
    used = torch.where(ends <= columns, ends, 0).amax(dim=1, keepdim=True)
    place = torch.arange(columns, device=lengths.device).expand(lengths.shape[0], -1).contiguous()
    group = torch.searchsorted(ends, place, right=True).clamp(max=lengths.shape[1] - 1)
    slot = place - start.gather(1, group)
    filled = place < used
    return kept, start, torch.where(filled, group, -1), torch.where(filled, slot, -1)
