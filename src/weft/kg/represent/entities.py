"""Texts with their entities as tensors: roots, mentions, and the facts between entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.errors import InputError
from weft.kg.dataset.tokens import PAD

_MULTIPLE = 8


@dataclass(frozen=True)
class EntityExample:
    """One text; R tokens, M mentions, N entities, F facts.

    Args:
        document: Number of the document that the text is from.
        ids: ``(R,)`` int64 token ids.
        mention_entity: ``(M,)`` int64, the entity that each mention is of.
        mention_start: ``(M,)`` int64, first token.
        mention_end: ``(M,)`` int64, after the last token.
        types: ``(N,)`` int64 type of each entity, from 1; 0 where it is not known.
        entity: ``(N,)`` int64, number of each entity in its document.
        facts: ``(F, 3)`` int64 rows (head, relation, tail), heads and tails by their place in the text.
        hidden: ``(R, hidden)``, the roots after the frozen layers, where they were computed before.
        cases: ``(R,)`` int64 letter case of each token's word; None where it was not kept.

    Raises:
        InputError: No token, or a mention or fact that points outside.
    """

    document: int
    ids: Tensor
    mention_entity: Tensor
    mention_start: Tensor
    mention_end: Tensor
    types: Tensor
    entity: Tensor
    facts: Tensor
    hidden: Tensor | None = None
    cases: Tensor | None = None

    def __post_init__(self) -> None:
        R, N = len(self.ids), len(self.types)
        where = f"document {self.document}"
        if not R:
            raise InputError("a text without tokens", where=where)
        if len(self.mention_entity):
            outside = (
                (self.mention_start < 0) | (self.mention_end <= self.mention_start) | (self.mention_end > R)
            )
            if bool(outside.any()):
                raise InputError(
                    f"mention {int(outside.nonzero()[0])} lies outside the {R} tokens", where=where
                )
            if int(self.mention_entity.min()) < 0 or int(self.mention_entity.max()) >= N:
                raise InputError(f"a mention of an entity beyond the {N} there are", where=where)
        if N and set(range(N)) - set(self.mention_entity.tolist()):
            raise InputError("an entity without a mention", where=where)
        if len(self.facts):
            ends = self.facts[:, [0, 2]]
            if int(ends.min()) < 0 or int(ends.max()) >= N or int(self.facts[:, 1].min()) < 1:
                raise InputError("a fact outside the entities or relations", where=where)


@dataclass(frozen=True)
class EntityBatch:
    """B texts, padded.

    Args:
        input_ids: ``(B, R)`` int64.
        real: ``(B, R)`` bool.
        mention_entity: ``(B, M)`` int64; −1 where there is no mention.
        mention_start: ``(B, M)`` int64.
        mention_end: ``(B, M)`` int64; 0 where there is no mention.
        types: ``(B, N)`` int64.
        there: ``(B, N)`` bool: which entities exist.
        facts: ``(F, 4)`` int64 rows (text, head, relation, tail).
        hidden: ``(B, R, hidden)`` of the roots after the frozen layers, or None.
        cases: ``(B, R)`` int64, or None.
    """

    input_ids: Tensor
    real: Tensor
    mention_entity: Tensor
    mention_start: Tensor
    mention_end: Tensor
    types: Tensor
    there: Tensor
    facts: Tensor
    hidden: Tensor | None = None
    cases: Tensor | None = None

    def mentioned(self) -> Tensor:
        """Which tokens are part of which mention, ``(B, M, R)`` bool."""
        place = torch.arange(self.input_ids.shape[1], device=self.input_ids.device)
        return (place >= self.mention_start[:, :, None]) & (place < self.mention_end[:, :, None])

    def owned(self) -> Tensor:
        """Which mentions are of which entity, ``(B, N, M)`` bool."""
        number = torch.arange(self.types.shape[1], device=self.types.device)
        return self.mention_entity[:, None, :] == number[:, None]

    def pairs(self) -> Tensor:
        """Which (head, tail) pairs exist, ``(B, N, N)`` bool; an entity is no pair with itself."""
        both = self.there[:, :, None] & self.there[:, None, :]
        return both & ~torch.eye(self.there.shape[1], dtype=torch.bool, device=both.device)

    def labels(self, num_relations: int) -> Tensor:
        """The facts as ``(B, N, N, num_relations)`` bool."""
        N = self.types.shape[1]
        result = torch.zeros(len(self.types), N, N, num_relations, dtype=torch.bool, device=self.types.device)
        text, head, relation, tail = self.facts.unbind(1)
        result[text, head, tail, relation] = True
        return result


def entity_batch(examples: Sequence[EntityExample]) -> EntityBatch:
    """Pad examples to one batch.

    Raises:
        InputError: No examples.
    """
    if not examples:
        raise InputError("an empty batch: no texts")
    R = -(-max(len(item.ids) for item in examples) // _MULTIPLE) * _MULTIPLE
    M = max(1, *(len(item.mention_entity) for item in examples))
    N = max(1, *(len(item.types) for item in examples))
    facts = [
        torch.cat([torch.full((len(item.facts), 1), row), item.facts], dim=1)
        for row, item in enumerate(examples)
        if len(item.facts)
    ]
    return EntityBatch(
        input_ids=torch.stack([_pad(item.ids, R, PAD) for item in examples]),
        real=torch.stack([torch.arange(R) < len(item.ids) for item in examples]),
        mention_entity=torch.stack([_pad(item.mention_entity, M, -1) for item in examples]),
        mention_start=torch.stack([_pad(item.mention_start, M, 0) for item in examples]),
        mention_end=torch.stack([_pad(item.mention_end, M, 0) for item in examples]),
        types=torch.stack([_pad(item.types, N, 0) for item in examples]),
        there=torch.stack([torch.arange(N) < len(item.types) for item in examples]),
        facts=torch.cat(facts) if facts else torch.zeros(0, 4, dtype=torch.int64),
        hidden=_of_all([item.hidden for item in examples], R),
        cases=_of_all([item.cases for item in examples], R),
    )


def _of_all(values: Sequence[Tensor | None], length: int) -> Tensor | None:
    """What every example has, padded; None where one lacks it."""
    present = [_pad(given, length, 0) for given in values if given is not None]
    return torch.stack(present) if len(present) == len(values) else None


def _pad(values: Tensor, length: int, value: int) -> Tensor:
    result = values.new_full((length, *values.shape[1:]), value)
    result[: len(values)] = values
    return result
