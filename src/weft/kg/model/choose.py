"""Which of a chunk's entities is a tail: how likely the masked leaves of a question hold each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from weft.kg.dataset.tokens import END, MASK, PAD
from weft.kg.model.decode import Queries, filled_log_probability, score_tails
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.schema import Schema

_ROWS, _HEADS, _TAILS = 8, 16, 32
"""Rows of a pass, heads of a row; tails of a row, where tails are spelled."""


class Standing(NamedTuple):
    """An entity in a chunk.

    Args:
        entity: Its number in the document.
        first: Index of the first token of its first mention.
        length: Tokens of that mention.
        kind: Its type; ``""`` where it is not known.
        tail: Its tokens as a tail; empty where it cannot be one.
    """

    entity: int
    first: int
    length: int
    kind: str
    tail: tuple[int, ...]


class Chosen(NamedTuple):
    """A fact and how likely its tail is, of all that could hang from its head."""

    head: Standing
    relation: int
    tail: Standing
    probability: float


def choose_tails(
    model: LeafyChainModel, roots: Sequence[int], standing: Sequence[Standing], schema: Schema
) -> Iterator[Chosen]:
    """Ask for every head and relation that types allow; every entity that may be its tail is an answer.

        p = (Π_k p(t_k))^(1/n)        of a tail's n tokens, its end among them where the model knows one

    A type that the schema never names counts as not known.

    Args:
        model: In eval mode.
        roots: The chunk's token ids.
        standing: Its entities.
        schema: The model's.
    """
    named = schema.types()
    kinds = [item.kind if item.kind in named else None for item in standing]
    asked: list[tuple[int, int, list[int]]] = []
    for place in range(len(standing)):
        for number, rule in enumerate(schema.relations, 1):
            fits = [
                other
                for other, tail in enumerate(standing)
                if other != place and tail.tail and rule.allows(kinds[place], kinds[other])
            ]
            if fits:
                asked.append((place, number, fits))
    if not asked:
        return
    questions = [(relation, standing[place].first, standing[place].length) for place, relation, _ in asked]
    found = tail_log_probabilities(model, roots, questions, [item.tail or (END,) for item in standing])
    for (place, relation, fits), row in zip(asked, found.exp().tolist(), strict=True):
        for other in fits:
            yield Chosen(standing[place], relation, standing[other], row[other])


@torch.no_grad()
def tail_log_probabilities(
    model: LeafyChainModel,
    roots: Sequence[int],
    questions: Sequence[tuple[int, int, int]],
    tails: Sequence[tuple[int, ...]],
) -> Tensor:
    """The mean log-probability of a tail's tokens, ``(questions, tails)``.

    A model with masked leaves is asked for one relation of many heads in a row, as its leaves hang in training: each
    leaf gives every token at once, of every length where leaves have slots and a tail an end, else length by length. A
    model that spells is asked for each tail.

    Args:
        model: In eval mode.
        roots: Token ids of a chunk.
        questions: Relation, first token and number of tokens of the head, of each.
        tails: Token ids of each, at most K.
    """
    device = model.word_embeddings.device
    chunk = torch.tensor([list(roots)], device=device)
    columns = torch.tensor(list(questions), dtype=torch.int64, device=device)
    if model.config.decoding == "causal":
        parts = columns.split(max(_TAILS // len(tails), 1))
        return torch.cat([_spelled(model, chunk, part, tails) for part in parts])
    by_relation: dict[int, list[int]] = {}
    for number, (relation, _, _) in enumerate(questions):
        by_relation.setdefault(relation, []).append(number)
    rows = [
        mine[start : start + _HEADS] for mine in by_relation.values() for start in range(0, len(mine), _HEADS)
    ]
    result = torch.zeros(len(columns), len(tails), device=device)
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        width = max(map(len, part))
        place = torch.tensor([row + row[:1] * (width - len(row)) for row in part], device=device)
        there = torch.tensor([[step < len(row) for step in range(width)] for row in part], device=device)
        relation, first, length = columns[place].unbind(2)
        queries = Queries(chunk.expand(len(part), -1), there, relation, first, length)
        result[place[there]] = _filled(model, queries, tails)[there]
    return result


def _filled(model: LeafyChainModel, queries: Queries, tails: Sequence[tuple[int, ...]]) -> Tensor:
    """``(B, Q, tails)``."""
    K, slots, device = model.config.leaves, model.config.slots, queries.roots.device
    result = torch.zeros(*queries.there.shape, len(tails), device=device)
    ended = [(*tail, END)[:K] if slots else tail for tail in tails]
    for size in [K] if slots else sorted({len(tail) for tail in ended}):
        shown = torch.full((*queries.there.shape, size), MASK, dtype=torch.int64, device=device)
        log_p = filled_log_probability(model, queries, shown)
        for number, tail in enumerate(ended):
            if slots or len(tail) == size:
                places = torch.arange(len(tail), device=device)
                result[..., number] = log_p[..., places, torch.tensor(tail, device=device)].mean(dim=2)
    return result


def _spelled(model: LeafyChainModel, chunk: Tensor, part: Tensor, tails: Sequence[tuple[int, ...]]) -> Tensor:
    K, count = model.config.leaves, len(tails)
    ids = torch.full((count, K), PAD, dtype=torch.int64, device=chunk.device)
    for number, tail in enumerate(tails):
        ids[number, : len(tail)] = torch.tensor(tail, device=chunk.device)
    length = (ids != PAD).sum(dim=1)
    # A row of questions asks for every tail of each of them.
    relation, start, head = part.repeat_interleave(count, dim=0).T[:, None]
    there = torch.ones_like(relation, dtype=torch.bool)
    queries = Queries(chunk, there, relation, start, head)
    wide = len(part)
    scores = score_tails(model, queries, ids.repeat(wide, 1)[None], length.repeat(wide)[None])[0]
    return scores.view(wide, count) / (length + 1).clamp(max=K)
