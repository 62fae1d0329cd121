"""Leaves that are shown, not asked: what a whole tree tells of a head, for the leaves of its questions to read.

They stand after all other leaves. Each sees the roots and its own group; a leaf that is asked sees those of its own
head beside the roots, and may copy from them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from weft.kg.dataset.tokens import PAD
from weft.kg.represent.batch import IGNORED, ChainBatch, pack


@dataclass(frozen=True)
class Clues:
    """The clues of B chunks, M to each at most; all tensors ``(B, M)`` but ``tail_ids (B, M, K)``.

    Args:
        there: bool: which of them exist.
        relation: Relation id, after those that are asked.
        head_start: Column of the head's first token.
        head_length: Number of its tokens.
        tail_ids: Token ids of what the clue names, padded.
        tail_length: Their number.
    """

    there: Tensor
    relation: Tensor
    head_start: Tensor
    head_length: Tensor
    tail_ids: Tensor
    tail_length: Tensor

    def to(self, device: torch.device | str) -> Clues:
        """The same on another device."""
        return Clues(*(getattr(self, item.name).to(device) for item in fields(self)))

    def shuffled(self, generator: torch.Generator) -> Clues:
        """What the clues tell, dealt out anew among the heads: a control that shows what the clues are worth."""
        place = self.there.nonzero(as_tuple=True)
        order = torch.randperm(len(place[0]), generator=generator, device=self.there.device)
        dealt = {}
        for name in ("relation", "tail_ids", "tail_length"):
            value = getattr(self, name).clone()
            value[place] = value[place][order]
            dealt[name] = value
        return replace(self, **dealt)


def attach(batch: ChainBatch, clues: Clues, most: int | None = None) -> ChainBatch:
    """A batch with leaves that are shown; the same batch where there are none.

    Args:
        batch: Without any.
        clues: Of its chunks.
        most: Columns for them; of a chunk that needs more, the last clues are left out.
    """
    lengths = torch.where(clues.there, clues.tail_length, 0)
    columns = int(lengths.sum(dim=1).max()) if lengths.numel() else 0
    columns = columns if most is None else min(columns, most)
    if not columns:
        return batch
    kept, start, group, slot = pack(lengths, columns)
    filled, index = group >= 0, group.clamp(min=0)
    K = clues.tail_ids.shape[2]
    tail = clues.tail_ids.gather(1, index[:, :, None].expand(-1, -1, K))
    shown = torch.where(filled, tail.gather(2, slot.clamp(0, K - 1)[:, :, None]).squeeze(2), PAD)
    head = torch.where(filled, clues.head_start.gather(1, index), 0)
    example, candidate = torch.nonzero(kept, as_tuple=True)
    ignored, width = torch.full_like(shown, IGNORED), batch.input_ids.shape[1]
    # What is spelled may be copied from a clue of the same head that has the token at the same place.
    same = (batch.tail_targets[:, :, None] == shown[:, None, :]) & (
        batch.slot[:, :, None] == slot[:, None, :]
    )
    same &= (batch.root[:, :, None] == head[:, None, :]) & filled[:, None, :]

    def joined(old: Tensor, new: Tensor) -> Tensor:
        return torch.cat([old, new], dim=old.dim() - 1)

    return replace(
        batch,
        input_ids=joined(batch.input_ids, shown),
        real=joined(batch.real, filled),
        root=joined(batch.root, head),
        slot=joined(batch.slot, slot),
        # Numbers below −1, so that no group of a question is meant.
        group=joined(batch.group, torch.where(filled, -2 - group, -1)),
        tail_targets=joined(batch.tail_targets, ignored),
        copyable=joined(batch.copyable | same.any(dim=2), torch.zeros_like(filled)),
        root_targets=joined(batch.root_targets, ignored),
        example=joined(batch.example, example),
        relation=joined(batch.relation, clues.relation[example, candidate]),
        head_start=joined(batch.head_start, clues.head_start[example, candidate]),
        head_length=joined(batch.head_length, clues.head_length[example, candidate]),
        tail_start=joined(batch.tail_start, width + start[example, candidate]),
        tail_length=joined(batch.tail_length, lengths[example, candidate]),
        num_given=columns,
    )
