"""Any model on any corpus, whatever their classes: what is found, what is right, how sure it was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.absa.evaluate.metrics import aspect_auc, sentiment_accuracy
from weft.absa.evaluate.report import calibration_error, scored
from weft.absa.records import NONE, Corpus
from weft.absa.use.asker import Asker
from weft.absa.use.decide import decide
from weft.errors import InputError, counted

Floats = NDArray[np.float64]


def under(probabilities: Floats, classes: Sequence[str], polarities: Sequence[str]) -> Floats:
    """The probabilities in the order of other classes; 0 for those that the model does not have.

    What the model gives to a class that the corpus does not have is lost: the rows are scaled to 1.

    Args:
        probabilities: ``(rows, classes)``.
        classes: Of the model.
        polarities: Of the corpus.
    """
    found = np.zeros((len(probabilities), len(polarities)))
    for column, name in enumerate(polarities):
        if name in classes:
            found[:, column] = probabilities[:, list(classes).index(name)]
    return found / found.sum(axis=1, keepdims=True)


def opinions_report(corpus: Corpus, probabilities: Floats, threshold: float = 0.5) -> dict[str, float]:
    """What a table of domains needs, by name.

    ``found`` is the share of the gold opinions (neutral ones included) that are answered with their polarity,
    ``precision`` the share of the answered opinions that are right, ``sentiment`` the share of right polarities on rows
    whose gold is positive or negative when these two are all there is to choose from, ``all_right`` the share of the
    texts whose every question is answered right.

    Args:
        corpus: The questions and gold answers.
        probabilities: ``(rows, classes)`` in the order of ``corpus.polarities``.
        threshold: See :func:`weft.absa.use.decide.decide`.
    """
    result = scored(corpus, probabilities, threshold)
    gold, predicted = result.gold, decide(probabilities, threshold)
    right = gold == predicted
    judged = [corpus.polarities.index(name) for name in ("positive", "negative") if name in corpus.polarities]
    texts = np.repeat(np.arange(len(corpus.sentences)), [len(s.contexts) for s in corpus.sentences])
    wrong = np.bincount(texts, weights=~right)
    values = {
        "questions": float(len(gold)),
        "accuracy": float(right.mean()),
        "all_none": float((gold == 0).mean()),
        "macro_f1": _macro_f1(gold, predicted),
        "found": _share(right[gold != 0]),
        "precision": _share(right[predicted != 0]),
        "aspect_auc": aspect_auc(result),
        "sentiment": sentiment_accuracy(result, judged),
        "all_right": float((wrong == 0).mean()),
        "ece": calibration_error(result),
    }
    for number, name in enumerate(corpus.polarities):
        if name != NONE and (gold == number).any():
            values[f"recall_{name}"] = _share(right[gold == number])
    return values


def opinions_by(asker: Asker, corpus: Corpus, values: Sequence[str]) -> dict[str, dict[str, float]]:
    """:func:`opinions_report` of a model for the texts of each value.

    Args:
        asker: Its threshold decides.
        corpus: The questions and gold answers, asked in one pass.
        values: One for each text.

    Raises:
        InputError: More or fewer values than texts.
    """
    if isinstance(values, str) or len(values) != len(corpus.sentences):
        raise InputError(f"{counted(len(values), 'value')} for {counted(len(corpus.sentences), 'text')}")
    answers = asker.answer(corpus.sentences)
    parts: dict[str, list[int]] = {}
    for number, value in enumerate(values):
        parts.setdefault(value, []).append(number)
    return {
        value: opinions_report(
            corpus.subset(numbers),
            under(np.concatenate([answers[i] for i in numbers]), asker.classes_, corpus.polarities),
            asker.config.threshold,
        )
        for value, numbers in parts.items()
    }


def _macro_f1(gold: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """The mean F of the classes that occur."""
    scores: list[float] = []
    for number in np.unique(gold):
        both = float(((gold == number) & (predicted == number)).sum())
        scores.append(2 * both / float((gold == number).sum() + (predicted == number).sum()))
    return float(np.mean(scores))


def _share(values: NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else float("nan")
