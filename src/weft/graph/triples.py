"""Triples of a batch, as positions in its token sequences.

A triple (head, relation, tail) points at tokens: the head's among the roots, the tail's among the
leaves. Only positions in the sequence are stored, so the same container serves a dense leafy chain
(1024 positions) and a compact one (real tokens only).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from weft.errors import DtypeError, GraphError, ShapeError

NO_RELATION = 0
"""The relation id that means "none"; no triple carries it."""

NO_TOKEN = -1
"""Padding in ``head`` and ``tail``."""


@dataclass(frozen=True, eq=False)
class Triples:
    """The triples of a batch; T may be 0.

    Args:
        example: ``(T,)`` int64, the example in the batch.
        relation: ``(T,)`` int64, from 1; 0 is "none" and not allowed.
        head: ``(T, m)`` int64, positions of the head's tokens in the sequence, -1 where there are fewer.
        tail: ``(T, n)`` int64, positions of the tail's tokens, -1 where there are fewer.

    Raises:
        GraphError: A relation below 1, a negative position, a head or tail without tokens; the triple is named.
        ShapeError: Tensors whose shapes do not fit.
        DtypeError: A tensor that is not int64.
    """

    example: Tensor
    relation: Tensor
    head: Tensor
    tail: Tensor

    def __post_init__(self) -> None:
        count = self.example.shape[0] if self.example.dim() == 1 else -1
        for name, tensor, rank in (
            ("example", self.example, 1),
            ("relation", self.relation, 1),
            ("head", self.head, 2),
            ("tail", self.tail, 2),
        ):
            if tensor.dim() != rank or tensor.shape[0] != count:
                raise ShapeError(
                    f"{name} has shape {tuple(tensor.shape)} beside example {tuple(self.example.shape)}; "
                    "example and relation must be (T,), head and tail (T, tokens)"
                )
            if tensor.dtype != torch.int64:
                raise DtypeError(f"{name} is {tensor.dtype}; it must be torch.int64")
        if not count:
            return
        _refuse(self.example < 0, "has a negative example")
        _refuse(self.relation <= NO_RELATION, 'has relation 0 or less; 0 means "none": leave the triple out')
        for name, positions in (("head", self.head), ("tail", self.tail)):
            _refuse((positions < NO_TOKEN).any(dim=1), f"has a {name} position below -1")
            _refuse((positions == NO_TOKEN).all(dim=1), f"has a {name} without tokens")

    def __len__(self) -> int:
        return self.example.shape[0]

    @classmethod
    def none(cls, device: torch.device | str = "cpu") -> Triples:
        """No triples at all."""
        empty = torch.zeros(0, dtype=torch.int64, device=device)
        return cls(empty, empty, empty.view(0, 1), empty.view(0, 1))

    @classmethod
    def from_spans(
        cls,
        example: Tensor,
        relation: Tensor,
        head_start: Tensor,
        head_length: Tensor,
        tail_start: Tensor,
        tail_length: Tensor,
    ) -> Triples:
        """Triples whose heads and tails are runs of neighbouring positions; all arguments ``(T,)`` int64."""
        return cls(example, relation, _spans(head_start, head_length), _spans(tail_start, tail_length))

    def check(self, batch: int, length: int, num_relations: int) -> None:
        """Check the triples against the sequences ``(batch, length)`` and the relations they are used with.

        Raises:
            GraphError: An example, a position or a relation out of range; the triple is named.
        """
        if not len(self):
            return
        _refuse(self.example >= batch, f"is of an example outside the batch of {batch}")
        _refuse(self.relation >= num_relations, f"has an unknown relation; ids are 1 to {num_relations - 1}")
        for name, positions in (("head", self.head), ("tail", self.tail)):
            outside = (positions >= length).any(dim=1)
            _refuse(outside, f"has a {name} position outside the sequence of {length}")

    def sorted_by_relation(self) -> Triples:
        """The same triples, those of one relation next to each other."""
        order = torch.argsort(self.relation, stable=True)
        return Triples(self.example[order], self.relation[order], self.head[order], self.tail[order])

    def to(self, device: torch.device | str) -> Triples:
        """The same triples on another device."""
        parts = (self.example, self.relation, self.head, self.tail)
        return Triples(*(part.to(device) for part in parts))


def _spans(start: Tensor, length: Tensor) -> Tensor:
    longest = int(length.max()) if length.numel() else 1
    offsets = torch.arange(max(longest, 1), device=start.device)
    return torch.where(offsets < length[:, None], start[:, None] + offsets, NO_TOKEN)


def _refuse(wrong: Tensor, what: str) -> None:
    found = wrong.nonzero()
    if len(found):
        raise GraphError(f"triple {int(found[0])} {what}", where="triples")
