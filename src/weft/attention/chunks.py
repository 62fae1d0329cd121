"""How attention is cut into chunks that stay in the cache: blocks of batch entries, heads and query rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

CHUNK_BYTES = {"cpu": 1 << 20, "cuda": 1 << 27}
"""Bytes of scores per chunk: on a CPU about a core's second-level cache (measured in docs/log.md)."""


@dataclass(frozen=True)
class Chunk:
    """A block of batch entries, heads and query rows."""

    index: int
    batch: slice
    heads: slice
    rows: slice

    def of(self, tensor: Tensor) -> Tensor:
        """The chunk's part of ``(batch, heads, query, …)``; dimensions of size 1 stay as they are."""
        batch = self.batch if tensor.shape[0] > 1 else slice(None)
        heads = self.heads if tensor.shape[1] > 1 else slice(None)
        rows = self.rows if tensor.shape[2] > 1 else slice(None)
        return tensor[batch, heads, rows]

    def batch_of(self, tensor: Tensor) -> Tensor:
        """The chunk's part of ``(batch, …)``."""
        return tensor[self.batch]

    def product(self, out: Tensor, query: Tensor, keys: Tensor, scale: float = 1.0) -> Tensor:
        """The product scale · query · keysᵀ over the chunk, ``(…, rows, keys)``, into ``out``."""
        multiply(out, self.of(query), self.keys_of(keys).mT, scale)
        return out

    def add_product(self, gradient: Tensor, weights: Tensor, rows: Tensor, scale: float = 1.0) -> None:
        """Add scale · weightsᵀ · rows to the chunk's part of a gradient ``(batch, heads, key, D)``.

        The first rows of a block write what the next ones add to, so that nothing need be zeroed before.
        """
        target, add = self.keys_of(gradient), self.rows.start > 0
        if target.stride(-1) == 1:
            multiply(target, weights.mT, rows, scale, add=add)
        else:
            multiply(target.mT, rows.mT, weights, scale, add=add)

    def keys_of(self, tensor: Tensor) -> Tensor:
        """The chunk's part of ``(batch, heads, key, …)``: every key."""
        return tensor[self.batch, self.heads]


def multiply(out: Tensor, left: Tensor, right: Tensor, scale: float = 1.0, *, add: bool = False) -> None:
    """``out`` = scale · left · right, or ``out`` + that, over ``(batch, heads, …)``.

    Nothing is copied where batch and heads of each are one dimension to the matrix product, as they are
    in a chunk of one batch entry.
    """
    flat = [_flat(tensor) for tensor in (out, left, right)]
    if flat[0] is not None and flat[1] is not None and flat[2] is not None:
        if flat[0].is_contiguous() or flat[0].shape[0] == 1:
            flat[0].baddbmm_(flat[1], flat[2], beta=float(add), alpha=scale)
            return
        product = torch.bmm(flat[1], flat[2]).view(out.shape)
    else:
        product = torch.matmul(left, right)
    if add:
        out.add_(product, alpha=scale)
    else:
        torch.mul(product, scale, out=out)


def _flat(tensor: Tensor) -> Tensor | None:
    """``(batch · heads, …)`` as a view, or None where the layout has none."""
    batch, heads = tensor.shape[:2]
    if batch == 1:
        return tensor[0]
    if heads == 1 or tensor.stride(0) == heads * tensor.stride(1):
        return tensor.flatten(0, 1)
    return None


def chunks(query: Tensor, keys: int, budget: int) -> Iterator[Chunk]:
    """Cut (batch, heads, rows) so that one chunk's scores stay within ``budget`` elements."""
    batch, heads, rows, _ = query.shape
    row_step = _even(rows, max(1, min(rows, budget // keys)))
    head_step = max(1, min(heads, budget // (row_step * keys)))
    batch_step = max(1, min(batch, budget // (head_step * row_step * keys))) if head_step == heads else 1
    index = 0
    for first in range(0, batch, batch_step):
        for head in range(0, heads, head_step):
            for row in range(0, rows, row_step):
                yield Chunk(
                    index,
                    slice(first, first + batch_step),
                    slice(head, head + head_step),
                    slice(row, row + row_step),
                )
                index += 1


def _even(length: int, most: int) -> int:
    """A step of at most ``most`` that cuts ``length`` into nearly equal pieces, a multiple of 16 if it can be."""
    pieces = -(-length // most)
    step = -(-length // pieces)
    rounded = -(-step // 16) * 16
    return rounded if rounded <= most else step


@dataclass(frozen=True)
class Part:
    """Neighbouring batch entries whose last visible key is the same; the keys behind it are left out."""

    batch: slice
    keys: int

    def of(self, tensor: Tensor, key_dim: int | None = None, extra: int = 0) -> Tensor:
        """The part's share of ``(batch | 1, …)``, cut to its keys (and ``extra`` before them) at ``key_dim``."""
        share = tensor[self.batch] if tensor.shape[0] > 1 else tensor
        if key_dim is None or share.shape[key_dim] == 1:
            return share
        return share.narrow(key_dim, 0, self.keys + extra)


def parts(allowed: Tensor | None, batch: int, keys: int, *, whole: bool) -> tuple[Part, ...]:
    """Cut the batch by how far its masks let it see; with ``whole``, one part that sees as far as any entry.

    On a GPU, where reading the masks would wait for the device, it is one part with every key.
    """
    if allowed is None or allowed.device.type != "cpu":
        return (Part(slice(0, batch), keys),)
    visible = allowed.any(dim=2).any(dim=1).expand(-1, keys)
    last = (
        (visible * torch.arange(1, keys + 1, device=visible.device))
        .amax(dim=1)
        .clamp(min=1)
        .expand(batch)
        .tolist()
    )
    if whole:
        return (Part(slice(0, batch), max(last)),)
    starts = [0, *(i for i in range(1, batch) if last[i] != last[i - 1]), batch]
    return tuple(Part(slice(a, b), last[a]) for a, b in pairwise(starts))
