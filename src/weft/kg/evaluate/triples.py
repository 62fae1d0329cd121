"""How good the facts read out of whole documents are: precision, recall, F1, Ign F1, seen and unseen tails."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from weft.kg.model.choose import choose_tails
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.entities import EntityExample, entity_batch
from weft.kg.represent.passages import Fact, TextDataset
from weft.kg.represent.standing import AskedChunk, load_asked
from weft.kg.schema import Schema
from weft.train.batching import to_device

LEAST = -3.5
"""Scores below are not kept: their raw probability is below 0.03, and there are a hundred for each pair."""


class Guess(NamedTuple):
    """A fact that something states, and how sure it is; larger is surer.

    Args:
        document: Number of the document.
        fact: Head, relation, tail.
        score: By how much it beats its pair's threshold.
    """

    document: int
    fact: Fact
    score: float


@dataclass(frozen=True)
class FactScore:
    """Figures of guesses above a threshold, all documents together.

    Args:
        guesses: How many.
        precision: Share of right ones.
        recall: Share of the known facts among them.
        f1: Of both.
        ignoring_f1: F1 where right guesses that the training part also states, by the names of their
            entities, do not count for the precision.
        threshold: Least score.
        seen: The same for facts whose tail is, by its name, a tail in the training part.
        unseen: For all others.
    """

    guesses: int
    precision: float
    recall: float
    f1: float
    ignoring_f1: float
    threshold: float
    seen: FactScore | None = None
    unseen: FactScore | None = None

    def record(self) -> dict[str, object]:
        """As JSON; a threshold that lets everything or nothing through is null: JSON has no infinity."""
        values: dict[str, object] = {}
        for name, value in vars(self).items():
            if isinstance(value, FactScore):
                values[name] = value.record()
            elif isinstance(value, float):
                values[name] = round(value, 4) if math.isfinite(value) else None
            elif value is not None:
                values[name] = value
        return values


@torch.no_grad()
def guess(
    model: EntityGraphModel, passages: Sequence[EntityExample], batch_size: int = 8, least: float = LEAST
) -> list[Guess]:
    """Every fact that the model does not rule out; of several passages of a document the surest counts.

    Args:
        model: Set to eval mode.
        passages: Of any documents.
        batch_size: Passages at a time.
        least: Scores below are left out.
    """
    model.eval()
    device = next(model.parameters()).device
    best: dict[tuple[int, Fact], float] = {}
    order = sorted(passages, key=lambda item: len(item.ids))
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        batch = to_device(entity_batch(part), device)
        scores = model(batch)
        margin = (scores[..., 1:] - scores[..., :1]).masked_fill(~batch.pairs()[..., None], float("-inf"))
        found = torch.nonzero(margin >= least)
        values = margin[tuple(found.unbind(1))].tolist()
        for (row, head, tail, relation), value in zip(found.tolist(), values, strict=True):
            item = part[row]
            key = item.document, (int(item.entity[head]), relation + 1, int(item.entity[tail]))
            best[key] = max(value, best.get(key, float("-inf")))
    return [Guess(document, fact, score) for (document, fact), score in best.items()]


def guess_tails(
    model: LeafyChainModel, dataset: TextDataset, documents: Sequence[int], *, typed: bool = True
) -> list[Guess]:
    """What a leafy chain model of text says of documents of a data set; see :func:`guess_chunks`.

    Args:
        model: Set to eval mode.
        dataset: Its documents.
        documents: Their numbers.
        typed: Whether the types of entities are known; else all pairs are asked for every relation.
    """
    chunks = load_asked(dataset.folder, documents, model.config.leaves)
    if not typed:
        chunks = [
            chunk._replace(standing=tuple(item._replace(kind="") for item in chunk.standing))
            for chunk in chunks
        ]
    return guess_chunks(model, chunks, dataset.schema)


@torch.no_grad()
def guess_chunks(model: LeafyChainModel, chunks: Iterable[AskedChunk], schema: Schema) -> list[Guess]:
    """Every fact that types allow, by the logit of its tail's probability; of several chunks the surest counts.

    Args:
        model: Set to eval mode.
        chunks: With their entities.
        schema: The model's.
    """
    model.eval()
    best: dict[tuple[int, Fact], float] = {}
    for chunk in chunks:
        for item in choose_tails(model, chunk.ids, chunk.standing, schema):
            key = chunk.document, (item.head.entity, item.relation, item.tail.entity)
            best[key] = max(item.probability, best.get(key, 0.0))
    return [Guess(document, fact, _logit(value)) for (document, fact), value in best.items()]


def best_threshold(dataset: TextDataset, guesses: Sequence[Guess], documents: Sequence[int]) -> float:
    """The score with the highest F1 when nothing below it counts."""
    known = sum(len(dataset.facts[number]) for number in documents)
    ordered = sorted(guesses, key=lambda item: -item.score)
    if not ordered:
        return 0.0
    scores = np.array([item.score for item in ordered])
    right = np.cumsum([item.fact in dataset.facts[item.document] for item in ordered])
    f1 = 2 * right / (np.arange(1, len(right) + 1) + known)
    # Guesses of one score stand or fall together.
    last = np.append(scores[1:] < scores[:-1], True)
    return float(scores[np.where(last, f1, -1.0).argmax()])


def score_facts(
    dataset: TextDataset, guesses: Sequence[Guess], documents: Sequence[int], threshold: float
) -> FactScore:
    """Compare guesses with what is known of some documents.

    Args:
        dataset: Holds the known facts and, in its training part, the seen ones.
        guesses: About these documents.
        documents: Their numbers.
        threshold: Least score that counts.
    """
    taken = {(item.document, item.fact) for item in guesses if item.score >= threshold}
    known = {(number, fact) for number in documents for fact in dataset.facts[number]}
    stated, tails = _seen(dataset)
    names = [_names(dataset, number) for number in range(len(dataset.titles))]

    def repeated(document: int, fact: Fact) -> bool:
        return (names[document][fact[0]], fact[1], names[document][fact[2]]) in stated

    def one(taken: Set[tuple[int, Fact]], known: Set[tuple[int, Fact]]) -> FactScore:
        right = taken & known
        old = sum(repeated(*item) for item in right)
        precision = len(right) / max(len(taken), 1)
        recall = len(right) / max(len(known), 1)
        without = (len(right) - old) / max(len(taken) - old, 1)
        return FactScore(
            len(taken), precision, recall, _f1(precision, recall), _f1(without, recall), threshold
        )

    def is_seen(item: tuple[int, Fact]) -> bool:
        return names[item[0]][item[1][2]] in tails

    seen = {item for item in taken | known if is_seen(item)}
    return replace(
        one(taken, known),
        seen=one(taken & seen, known & seen),
        unseen=one(taken - seen, known - seen),
    )


def _seen(dataset: TextDataset) -> tuple[set[tuple[str, int, str]], set[str]]:
    """What the training part states, by names, and its tails."""
    facts: set[tuple[str, int, str]] = set()
    for number in dataset.documents_of("train"):
        names = _names(dataset, number)
        facts |= {(names[head], relation, names[tail]) for head, relation, tail in dataset.facts[number]}
    return facts, {tail for _, _, tail in facts}


def _names(dataset: TextDataset, document: int) -> dict[int, str]:
    names = {number: entity.name.casefold() for number, entity in dataset.entities[document].items()}
    # An entity whose mentions all overlap others stands in no passage, but in facts.
    named = {end for head, _, tail in dataset.facts[document] for end in (head, tail)}
    return {**dict.fromkeys(named, ""), **names}


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _logit(probability: float) -> float:
    kept = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(kept / (1 - kept))
