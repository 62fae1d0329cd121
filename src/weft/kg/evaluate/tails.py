"""What a leafy chain model of text says of held-out documents: the tails of masked leaves, as guesses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from weft.kg.evaluate.texts import TextEvaluation
from weft.kg.evaluate.triples import Guess
from weft.kg.model.choose import choose_tails
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.passages import Fact, TextDataset
from weft.kg.represent.standing import load_asked
from weft.kg.schema import Schema


@torch.no_grad()
def guess_tails(
    model: LeafyChainModel, dataset: TextDataset, documents: Sequence[int], schema: Schema | None = None
) -> list[Guess]:
    """Every fact that types allow, by the logit of its tail's probability; of several chunks the surest counts.

    Args:
        model: Set to eval mode.
        dataset: Of its vocabulary and schema.
        documents: Their numbers.
        schema: Which relations to ask for; those of the data set where None.
    """
    model.eval()
    schema = schema or dataset.schema
    ids = dataset.schema.ids()
    best: dict[tuple[int, Fact], float] = {}
    for chunk in load_asked(dataset.folder, documents, model.config.leaves):
        for item in choose_tails(model, chunk.ids, chunk.standing, schema):
            relation = ids[schema.names[item.relation]]
            key = chunk.document, (item.head.entity, relation, item.tail.entity)
            best[key] = max(item.probability, best.get(key, 0.0))
    return [Guess(document, fact, _logit(value)) for (document, fact), value in best.items()]


def ask_tails(model: LeafyChainModel, dataset: TextDataset, part: str) -> TextEvaluation:
    """Ask about every head and relation of the validation part and of another one."""
    valid = guess_tails(model, dataset, dataset.documents_of("valid"))
    documents = dataset.documents_of(part)
    return TextEvaluation(
        valid, valid if part == "valid" else guess_tails(model, dataset, documents), documents
    )


def _logit(probability: float) -> float:
    kept = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(kept / (1 - kept))
