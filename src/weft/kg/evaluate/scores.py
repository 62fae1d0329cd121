"""How good answers are: P@1, Hit@10, MAP, recall, F1 over thresholds, calibration, by relation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from weft.kg.evaluate.confidence import Confidence
from weft.kg.evaluate.views import GUESSED, Tail, View
from weft.kg.model.decode import find_tails
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.represent.dataset import Corpus
from weft.objective.intervals import Interval, bootstrap_interval
from weft.objective.metrics import expected_calibration_error, threshold_curve
from weft.platform.confidence import threshold_at

DEPTH = 10
"""Answers of a query that count."""

TARGET = 0.9
"""The precision that accepted answers are to have."""

Ranking = list[tuple[Tail, float]]
"""Tails of one query with their probabilities, best first."""


@dataclass(frozen=True)
class Score:
    """Figures of one view.

    Args:
        queries: How many were asked.
        precision_at_1: Share whose first answer is right.
        hit_at_10: Share with a right one among ten.
        mean_average_precision: Over ten answers; right tails beyond them count as never found.
        recall_at_10: Mean share of the right tails among ten.
        best_f1: Highest F1 over thresholds on the probability of every answer, all queries together.
        best_threshold: Where it is.
        calibration_error: ECE of the first answers' probabilities.
        accepted: Share of the first answers that :func:`threshold_at` accepts for a precision of 0.9.
        accepted_precision: Share right of those; NaN where none is accepted.
        multi_token: Share right of first answers to queries whose right tails all have several tokens.
        macro_precision_at_1: Mean of P@1 over relations.
        macro_hit_at_10: Mean of Hit@10 over relations.
        by_relation: Name to (queries, P@1, Hit@10).
    """

    queries: int
    precision_at_1: Interval
    hit_at_10: Interval
    mean_average_precision: float
    recall_at_10: float
    best_f1: float
    best_threshold: float
    calibration_error: float
    accepted: float
    accepted_precision: float
    multi_token: float
    macro_precision_at_1: float
    macro_hit_at_10: float
    by_relation: dict[str, tuple[int, float, float]] = field(default_factory=dict)

    def record(self) -> dict[str, object]:
        """As JSON; what is not defined is null."""
        values: dict[str, object] = {}
        for name, value in vars(self).items():
            if isinstance(value, Interval):
                values[name] = round(value.estimate, 4)
                values[name + "_interval"] = [round(value.low, 4), round(value.high, 4)]
            else:
                values[name] = value
                if isinstance(value, float):
                    values[name] = None if math.isnan(value) else round(value, 4)
        return values


def answer(
    model: LeafyChainModel,
    corpus: Corpus,
    view: View,
    *,
    beams: int = DEPTH,
    batch_size: int = 32,
    relation: Tensor | None = None,
) -> list[Ranking]:
    """The model's answers to a view, in the view's order.

    Args:
        model: In eval mode.
        corpus: On the model's device.
        view: What to ask.
        beams: Hypotheses of the beam search; a model with masked decoding gives one answer.
        batch_size: Queries at a time.
        relation: ``(n,)``, relations to ask for instead of the true ones: a control.
    """
    rankings: list[Ranking] = [[] for _ in range(len(view))]
    for index, queries in view.batches(corpus, batch_size, relation):
        found = find_tails(model, queries, beams)
        tokens, log_p = found.tokens[:, 0].tolist(), found.log_probability[:, 0].tolist()
        for row, query in enumerate(index.tolist()):
            seen: dict[Tail, float] = {}
            for tail, value in zip(tokens[row], log_p[row], strict=True):
                spelled = tuple(token for token in tail if token)
                if spelled and value > -1e8 and spelled not in seen:
                    seen[spelled] = float(np.exp(min(value, 0.0)))
            rankings[query] = list(seen.items())[:DEPTH]
    return rankings


def score(
    view: View,
    rankings: Sequence[Ranking],
    corpus: Corpus,
    names: Sequence[str],
) -> Score:
    """Compare answers with the right ones.

    Args:
        view: What was asked.
        rankings: Answers to each query.
        corpus: Holds the relations and documents of the queries.
        names: Relation names by id.
    """
    found = [[tail in gold for tail, _ in ranking] for ranking, gold in zip(rankings, view.gold, strict=True)]
    first = np.array([bool(hits) and hits[0] for hits in found], dtype=np.float64)
    ten = np.array([any(hits) for hits in found], dtype=np.float64)
    sizes = np.array([len(gold) for gold in view.gold])
    precision = [
        sum((np.cumsum(hits) / np.arange(1, len(hits) + 1))[np.array(hits, dtype=bool)]) / min(size, DEPTH)
        if hits
        else 0.0
        for hits, size in zip(found, sizes, strict=True)
    ]
    raw = np.array([value for ranking in rankings for _, value in ranking])
    labels = np.array([hit for hits in found for hit in hits])
    leading = np.array([ranking[0][1] if ranking else 0.0 for ranking in rankings])
    curve = threshold_curve(raw, labels, positives=int(sizes.sum())) if len(raw) else None
    taken = leading >= threshold_at(leading.tolist(), TARGET)
    several = np.array([all(len(tail) > 1 for tail in gold) for gold in view.gold])
    relation = corpus.relation[view.triple.to(corpus.relation.device)].cpu().numpy()
    document = corpus.document[corpus.chunk[view.triple.to(corpus.chunk.device)]].cpu().numpy()
    by_relation = {
        str(names[number]): (
            int((relation == number).sum()),
            float(first[relation == number].mean()),
            float(ten[relation == number].mean()),
        )
        for number in np.unique(relation).tolist()
    }
    return Score(
        queries=len(view),
        # Queries of one module are drawn together: they are not independent.
        precision_at_1=bootstrap_interval(first, groups=document),
        hit_at_10=bootstrap_interval(ten, groups=document),
        mean_average_precision=float(np.mean(precision)),
        recall_at_10=float(np.mean([sum(hits) / size for hits, size in zip(found, sizes, strict=True)])),
        best_f1=float(curve.f1[curve.best]) if curve else 0.0,
        best_threshold=float(curve.thresholds[curve.best]) if curve else 1.0,
        calibration_error=expected_calibration_error(leading.clip(0, 1), first.astype(bool)),
        accepted=float(taken.mean()),
        accepted_precision=float(first[taken].mean()) if taken.any() else float("nan"),
        multi_token=float(first[several].mean()) if several.any() else float("nan"),
        macro_precision_at_1=float(np.mean([value[1] for value in by_relation.values()])),
        macro_hit_at_10=float(np.mean([value[2] for value in by_relation.values()])),
        by_relation=by_relation,
    )


def evaluate(
    model: LeafyChainModel,
    corpus: Corpus,
    views: Mapping[str, View],
    names: Sequence[str],
    *,
    beams: int = DEPTH,
    batch_size: int = 32,
    shuffle_relations: bool = False,
    confidence: Confidence | None = None,
) -> dict[str, Score]:
    """Answer and score every view.

    Args:
        model: Set to eval mode.
        corpus: On the model's device.
        views: From :func:`weft.kg.evaluate.views.make_views`.
        names: Relation names by id.
        beams: Hypotheses of the beam search.
        batch_size: Queries at a time.
        shuffle_relations: Ask for random relations: a control.
        confidence: Replaces probabilities by how often such answers are right.
    """
    model.eval()
    results = {}
    for name, view in views.items():
        relation = None
        if shuffle_relations:
            generator = torch.Generator().manual_seed(0)
            relation = torch.randint(1, len(names), (len(view),), generator=generator)
        rankings = answer(model, corpus, view, beams=beams, batch_size=batch_size, relation=relation)
        if confidence is not None:
            relations = [names[number] for number in corpus.relation[view.triple].tolist()]
            rankings = [
                [(tail, confidence(relation_name, value, guessed=name in GUESSED)) for tail, value in ranking]
                for relation_name, ranking in zip(relations, rankings, strict=True)
            ]
        results[name] = score(view, rankings, corpus, names)
    return results
