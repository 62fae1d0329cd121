"""Facts of texts without a model: what a number has to beat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import torch

from weft.kg.evaluate.triples import Guess
from weft.kg.represent.entities import EntityExample
from weft.kg.represent.passages import TextDataset

_FAR = 1 << 20


def pair_baselines(dataset: TextDataset, documents: Sequence[int]) -> dict[str, list[Guess]]:
    """Guesses of every baseline about some documents.

    - *type pair*: for each pair of entities the relation that pairs of their types have most often in the
      training part, as sure as it is frequent there;
    - *nearest entity*: the same, for each head and the entity that stands nearest to it alone.

    Args:
        dataset: Its training part is what they know.
        documents: What they are asked about.
    """
    frequent = _frequent_relations(dataset)
    found: dict[str, list[Guess]] = {"type pair": [], "nearest entity": []}
    for number in documents:
        kinds = {entity: value.type for entity, value in dataset.entities[number].items()}
        pairs = sorted((head, tail) for head in kinds for tail in kinds if head != tail)
        known = {(head, tail): frequent.get((kinds[head], kinds[tail])) for head, tail in pairs}
        near = set(_nearest(dataset, number))
        for (head, tail), guess in known.items():
            if guess is not None:
                item = Guess(number, (head, guess[0], tail), guess[1])
                found["type pair"].append(item)
                if (head, tail) in near:
                    found["nearest entity"].append(item)
    return found


def _frequent_relations(dataset: TextDataset) -> dict[tuple[str, str], tuple[int, float]]:
    """The most frequent relation of each pair of types, and the share of pairs that have it."""
    pairs: Counter[tuple[str, str]] = Counter()
    relations: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for number in dataset.documents_of("train"):
        kinds = {entity: value.type for entity, value in dataset.entities[number].items()}
        pairs.update((kinds[head], kinds[tail]) for head in kinds for tail in kinds if head != tail)
        for head, relation, tail in dataset.facts[number]:
            if head in kinds and tail in kinds:
                relations[kinds[head], kinds[tail]][relation] += 1
    return {
        kind: (relation, count / pairs[kind])
        for kind, counts in relations.items()
        for relation, count in counts.most_common(1)
    }


def _nearest(dataset: TextDataset, document: int) -> Iterator[tuple[int, int]]:
    """For each entity the one that a mention of it stands nearest to."""
    best: dict[int, tuple[int, int]] = {}
    for item in dataset.passages:
        if item.document != document or len(item.types) < 2:
            continue
        gap = _gaps(item)
        for head, (distance, tail) in enumerate(zip(*(x.tolist() for x in gap.min(dim=1)), strict=True)):
            entity = int(item.entity[head])
            best[entity] = min(best.get(entity, (_FAR, -1)), (int(distance), int(item.entity[tail])))
    yield from ((head, tail) for head, (_, tail) in best.items())


def _gaps(item: EntityExample) -> torch.Tensor:
    """Tokens between the nearest mentions of any two entities, ``(N, N)``; far from itself."""
    N = len(item.types)
    between = (item.mention_start[:, None] - item.mention_start).abs()
    owner = item.mention_entity
    gap = torch.full((N * N,), _FAR, dtype=torch.int64)
    gap.scatter_reduce_(0, (owner[:, None] * N + owner).flatten(), between.flatten(), "amin")
    return gap.view(N, N).fill_diagonal_(_FAR)
