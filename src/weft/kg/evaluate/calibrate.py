"""Confidence learnt from the validation part."""

from __future__ import annotations

from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.scores import answer
from weft.kg.evaluate.views import make_views
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Corpus, Dataset

_NATURAL = ("natural", "parameter types", "return types")
"""What is asked of text as it is: hidden tails occur in no real chunk."""


def calibrate(
    model: LeafyChainModel, dataset: Dataset, corpus: Corpus, limit: int | None = None
) -> Confidence:
    """Fit confidences to the model's first answers to the validation part.

    Args:
        model: In eval mode.
        dataset: Its corpus on the CPU.
        corpus: The same on the model's device.
        limit: Most queries of each view.
    """
    answers = []
    for name, view in make_views(dataset, "valid", limit).items():
        if name not in _NATURAL:
            continue
        relations = dataset.corpus.relation[view.triple].tolist()
        for relation, ranking, gold in zip(relations, answer(model, corpus, view), view.gold, strict=True):
            if ranking:
                tail, probability = ranking[0]
                answers.append((dataset.schema.names[relation], probability, tail in gold))
    return Confidence.fit(answers)
