"""The published metrics of SentiHood and SemEval-2014, from the probabilities of every context.

Contexts come in *groups*: the questions about one (sentence, target), or about one sentence. Class 0
is ``none``. An aspect counts as predicted when the answer is not ``none``: by the most probable class
as published, or by a decision threshold (:mod:`weft.absa.use.decide`). The sentiment metrics leave
``none`` out of the probabilities and look at rows with a gold opinion only.

Source: Sun, Huang, Qiu 2019, "Utilizing BERT for Aspect-Based Sentiment Analysis via Constructing
Auxiliary Sentence", section 4, and the evaluation script published with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.absa.use.decide import decide
from weft.errors import InputError
from weft.objective.metrics import roc_auc

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Scored:
    """Gold classes and predicted probabilities of a corpus.

    Args:
        gold: ``(rows,)`` class of every context.
        probabilities: ``(rows, classes)``, rows summing to 1.
        group: ``(rows,)`` id of the (sentence, target) or sentence.
        aspect: ``(rows,)`` id of the aspect.
        threshold: Of the decision; 0.5 answers with the most probable class.
        signs: The classes that are positive and negative; None where the corpus has others.

    Raises:
        InputError: The lengths differ or a class is out of range.
    """

    gold: Ints
    probabilities: Floats
    group: Ints
    aspect: Ints
    threshold: float = 0.5
    signs: tuple[int, int] | None = (1, 2)

    def __post_init__(self) -> None:
        rows = len(self.gold)
        if not rows:
            raise InputError("no rows to evaluate")
        if not (len(self.probabilities) == len(self.group) == len(self.aspect) == rows):
            raise InputError("gold, probabilities, group and aspect differ in length")
        if self.gold.min() < 0 or self.gold.max() >= self.probabilities.shape[1]:
            raise InputError(f"a gold class outside 0..{self.probabilities.shape[1] - 1}")

    @property
    def predicted(self) -> Ints:
        """The answer to every row."""
        return decide(self.probabilities, self.threshold)


def accuracy(scored: Scored) -> float:
    """Share of right answers."""
    return float((scored.predicted == scored.gold).mean())


def strict_accuracy(scored: Scored) -> float:
    """Share of groups in which every context's class is right."""
    _, group = np.unique(scored.group, return_inverse=True)
    wrong = np.bincount(group, weights=scored.predicted != scored.gold)
    return float((wrong == 0).mean())


def macro_f1(scored: Scored) -> float:
    """F of the mean precision and the mean recall of aspects, over groups with a gold aspect.

    A group in which no aspect was found has precision and recall 0.
    """
    _, group = np.unique(scored.group, return_inverse=True)
    gold, predicted = scored.gold != 0, scored.predicted != 0
    both = np.bincount(group, weights=gold & predicted)
    gold_count, predicted_count = np.bincount(group, weights=gold), np.bincount(group, weights=predicted)
    kept = gold_count > 0
    if not kept.any():
        return 0.0
    precision = (both[kept] / np.maximum(predicted_count[kept], 1)).mean()
    recall = (both[kept] / gold_count[kept]).mean()
    return _f(precision, recall)


def micro_prf(scored: Scored) -> tuple[float, float, float]:
    """Precision, recall and F of aspects over all rows."""
    gold, predicted = scored.gold != 0, scored.predicted != 0
    both = float((gold & predicted).sum())
    precision, recall = both / max(int(predicted.sum()), 1), both / max(int(gold.sum()), 1)
    return precision, recall, _f(precision, recall)


def _f(precision: float, recall: float) -> float:
    return float(2 * precision * recall / (precision + recall)) if precision + recall > 0 else 0.0


def _auc(positive: NDArray[np.bool_], scores: Floats) -> float:
    """Area under the ROC curve; NaN where there are only positives or only negatives."""
    return roc_auc(scores, positive) if positive.any() and not positive.all() else float("nan")


def _mean(values: Sequence[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean(finite)) if finite else float("nan")


def aspect_auc(scored: Scored) -> float:
    """AUC of 1 − P(none) against "has an opinion", for every aspect, then their mean."""
    return _mean(list(aspect_aucs(scored).values()))


def aspect_aucs(scored: Scored) -> dict[int, float]:
    """AUC of 1 − P(none) for each aspect id."""
    return {
        int(aspect): _auc(scored.gold[rows] != 0, 1 - scored.probabilities[rows, 0])
        for aspect in np.unique(scored.aspect)
        for rows in [scored.aspect == aspect]
    }


def sentiment_accuracy(scored: Scored, classes: Sequence[int] | None = None) -> float:
    """Share of right polarities on rows whose gold is one of ``classes``, with only these to choose from.

    Args:
        scored: The rows.
        classes: The classes in play; all but ``none`` by default. SemEval's 4-, 3- and 2-way accuracy
            are (positive, negative, neutral, conflict), without conflict, and without neutral.
    """
    chosen = np.array(range(1, scored.probabilities.shape[1]) if classes is None else classes)
    rows = np.isin(scored.gold, chosen)
    if not rows.any():
        return float("nan")
    predicted = chosen[scored.probabilities[rows][:, chosen].argmax(axis=1)]
    return float((predicted == scored.gold[rows]).mean())


def sentiment_auc(scored: Scored) -> float:
    """AUC of P(negative) / (P(positive) + P(negative)) on opinion rows, per aspect, then the mean.

    An aspect whose opinions are all of one polarity has no AUC and is left out of the mean; NaN without ``signs``.
    """
    if scored.signs is None:
        return float("nan")
    positive, negative = scored.signs
    aucs: list[float] = []
    for aspect in np.unique(scored.aspect):
        rows = (scored.aspect == aspect) & np.isin(scored.gold, (positive, negative))
        pair = scored.probabilities[rows][:, (positive, negative)]
        share = pair[:, 1] / np.maximum(pair.sum(axis=1), np.finfo(np.float64).tiny)
        aucs.append(_auc(scored.gold[rows] == negative, share))
    return _mean(aucs)


def sentihood_metrics(scored: Scored) -> dict[str, float]:
    """All SentiHood metrics."""
    return {
        "strict": strict_accuracy(scored),
        "macro_f1": macro_f1(scored),
        "aspect_auc": aspect_auc(scored),
        "sentiment_accuracy": sentiment_accuracy(scored),
        "sentiment_auc": sentiment_auc(scored),
    }


def semeval_metrics(scored: Scored) -> dict[str, float]:
    """All SemEval-2014 metrics; the classes are none, positive, negative, neutral, conflict."""
    precision, recall, f1 = micro_prf(scored)
    return {
        "aspect_precision": precision,
        "aspect_recall": recall,
        "aspect_f1": f1,
        "accuracy_4": sentiment_accuracy(scored, (1, 2, 3, 4)),
        "accuracy_3": sentiment_accuracy(scored, (1, 2, 3)),
        "accuracy_2": sentiment_accuracy(scored, (1, 2)),
    }


def floors(scored: Scored) -> dict[str, float]:
    """What costs nothing: all ``none``, and every opinion positive (sentiment; NaN without ``signs``)."""
    constant = np.zeros_like(scored.probabilities)
    positive = scored.signs[0] if scored.signs else 1
    constant[:, 0], constant[:, positive] = 0.6, 0.4
    blind = Scored(scored.gold, constant, scored.group, scored.aspect)
    all_positive = sentiment_accuracy(blind) if scored.signs else float("nan")
    return {
        "all_none": accuracy(blind),
        "all_none_strict": strict_accuracy(blind),
        "all_positive_sentiment": all_positive,
    }
