"""Confidence learnt from the validation part, from questions as often as they are asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from weft.kg.dataset.tokens import PAD
from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.scores import TARGET
from weft.kg.evaluate.views import GUESSED, View, make_views
from weft.kg.model.decode import Queries, find_tails
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Corpus, Dataset
from weft.objective.metrics import expected_calibration_error
from weft.platform.confidence import threshold_at

_NATURAL = ("natural", "parameter types", "return types")
"""What is asked of text as it is: hidden tails occur in no real chunk."""
_AT_ONCE = 8
"""Chunks of a batch, with all of their questions."""


class Outcome(NamedTuple):
    """What became of one question.

    Args:
        relation: Name of the relation.
        probability: Of the first answer.
        right: Whether it was right.
        typed: Whether it is a type that only the stubs know.
    """

    relation: str
    probability: float
    right: bool
    typed: bool


@dataclass(frozen=True)
class AskedScore:
    """How far confidences can be trusted.

    Args:
        questions: How many.
        right: Share whose first answer is right.
        calibration_error: ECE of the first answers.
        kept: Share that a target precision of 0.9 keeps.
        precision: Share right of those; NaN where none is kept.
        recall: Their share of all right first answers.
    """

    questions: int
    right: float
    calibration_error: float
    kept: float
    precision: float
    recall: float


def judge(found: Sequence[Outcome], confidence: Confidence | None) -> AskedScore:
    """Judge confidences by outcomes that they were not fitted on.

    Args:
        found: What became of questions; at least one.
        confidence: Raw probabilities where None.
    """
    sure = np.array(
        [
            item.probability
            if confidence is None
            else confidence(item.relation, item.probability, guessed=item.typed)
            for item in found
        ]
    )
    right = np.array([item.right for item in found])
    kept = sure >= threshold_at(sure.tolist(), TARGET)
    return AskedScore(
        len(found),
        float(right.mean()),
        expected_calibration_error(sure, right),
        float(kept.mean()),
        float(right[kept].mean()) if kept.any() else float("nan"),
        float(right[kept].sum() / max(right.sum(), 1)),
    )


def calibrate(
    model: LeafyChainModel, dataset: Dataset, corpus: Corpus, limit: int | None = None, beams: int = 4
) -> Confidence:
    """Fit confidences to the model's first answers to the validation part.

    What the text states, each relation as often as it is asked; and types that it does not state, on their own.

    Args:
        model: In eval mode.
        dataset: Its corpus on the CPU.
        corpus: The same on the model's device.
        limit: Most questions of each of the two kinds.
        beams: Hypotheses of each tail, as many as will be used.
    """
    stated, guessed = (
        [
            (item.relation, item.probability, item.right)
            for item in outcomes(model, dataset, corpus, "valid", limit, beams, views=views)
        ]
        for views in (("natural",), GUESSED)
    )
    return Confidence.fit(stated, guessed)


def outcomes(
    model: LeafyChainModel,
    dataset: Dataset,
    corpus: Corpus,
    split: str,
    limit: int | None = None,
    beams: int = 4,
    seed: int = 0,
    views: Sequence[str] = _NATURAL,
) -> list[Outcome]:
    """Ask all questions of whole chunks: every relation as often as it is asked of real text.

    A share of each kind of question, as large for one as for another, would give types the say over
    relations that are asked more often than they.

    Args:
        model: In eval mode.
        dataset: Its corpus on the CPU.
        corpus: The same on the model's device.
        split: The part of the chunks.
        limit: Most questions; chunks are drawn at random up to it.
        beams: Hypotheses of each tail.
        seed: Of the draw.
        views: Names of the kinds of question.
    """
    made = make_views(dataset, split)
    asked: dict[int, list[tuple[View, int]]] = defaultdict(list)
    for name in views:
        if name in made:
            for number, triple in enumerate(made[name].triple.tolist()):
                asked[int(dataset.corpus.chunk[triple])].append((made[name], number))
    order = np.random.default_rng(seed).permutation(sorted(asked))
    total = np.cumsum([len(asked[chunk]) for chunk in order.tolist()])
    chosen = order[: len(order) if limit is None else int(np.searchsorted(total, limit)) + 1].tolist()
    lengths = (dataset.corpus.ids != PAD).sum(dim=1)
    # Chunks with as many questions together: a batch is padded to the most.
    chosen.sort(key=lambda chunk: (len(asked[chunk]), int(lengths[chunk])))
    result: list[Outcome] = []
    for start in range(0, len(chosen), _AT_ONCE):
        result += _ask(
            model,
            dataset,
            corpus,
            [(chunk, asked[chunk]) for chunk in chosen[start : start + _AT_ONCE]],
            beams,
        )
    return result


def _ask(
    model: LeafyChainModel,
    dataset: Dataset,
    corpus: Corpus,
    part: list[tuple[int, list[tuple[View, int]]]],
    beams: int,
) -> list[Outcome]:
    most = max(len(items) for _, items in part)
    triple = torch.zeros(len(part), most, dtype=torch.int64)
    there = torch.zeros(len(part), most, dtype=torch.bool)
    for row, (_, items) in enumerate(part):
        triple[row, : len(items)] = torch.tensor([int(view.triple[number]) for view, number in items])
        there[row, : len(items)] = True
    device = corpus.ids.device
    roots = corpus.ids[torch.tensor([chunk for chunk, _ in part], device=device)].long()
    roots = roots[:, : int((roots != PAD).sum(dim=1).max())]
    index = triple.to(device)
    # Places of questions that do not exist belong to other chunks: they point at the first root instead.
    start = torch.where(there.to(device), corpus.head_start[index], 0)
    queries = Queries(roots, there.to(device), corpus.relation[index], start, corpus.head_length[index])
    answers = find_tails(model, queries, beams)
    result = []
    for row, (_, items) in enumerate(part):
        for column, (view, number) in enumerate(items):
            relation = dataset.schema.names[int(dataset.corpus.relation[view.triple[number]])]
            probability = float(answers.log_probability[row, column, 0].clamp(max=0.0).exp())
            right = answers.tail(row, column, 0) in view.gold[number]
            result.append(Outcome(relation, probability, right, view.name in GUESSED))
    return result
