"""A model on a corpus: the published metrics, their floors, wrong-context controls, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weft.absa.evaluate.metrics import (
    Scored,
    accuracy,
    floors,
    semeval_metrics,
    sentihood_metrics,
    strict_accuracy,
)
from weft.absa.evaluate.temperature import fit_again, fit_ratio
from weft.absa.records import SEMEVAL_POLARITIES, Context, Corpus, Sentence
from weft.absa.use.asker import Asker
from weft.absa.use.sureness import reheated
from weft.errors import InputError
from weft.objective.metrics import expected_calibration_error

Floats = NDArray[np.float64]
_OPINIONS = SEMEVAL_POLARITIES.index("negative")


def check_classes(asker: Asker, corpus: Corpus) -> None:
    """Raise where a class of the corpus has another number than the model's of this name.

    Raises:
        InputError: Their order differs, or the model lacks one: right answers would be judged wrong.
    """
    if asker.classes_[: len(corpus.polarities)] != corpus.polarities:
        raise InputError(
            f"the corpus's classes are {corpus.polarities}, not {asker.classes_} as the model's",
            hint="corpus.labelled_as(model.classes_) numbers them alike",
        )


def score(asker: Asker, corpus: Corpus) -> Scored:
    """Ask every question of the corpus; groups are (sentence, target).

    Raises:
        InputError: Its classes are not numbered as the model's.
    """
    check_classes(asker, corpus)
    return scored(corpus, np.concatenate(asker.answer(corpus.sentences)), asker.config.threshold)


def scored(corpus: Corpus, probabilities: Floats, threshold: float = 0.5) -> Scored:
    """Gold classes and groups of a corpus beside probabilities ``(rows, classes)`` in its order."""
    aspects = {aspect: number for number, aspect in enumerate(corpus.aspects)}
    groups: dict[tuple[int, str | None], int] = {}
    group = [
        groups.setdefault((number, context.target), len(groups))
        for number, sentence in enumerate(corpus.sentences)
        for context in sentence.contexts
    ]
    aspect = [aspects[context.aspect] for sentence in corpus.sentences for context in sentence.contexts]
    signs = [corpus.polarities.index(name) for name in ("positive", "negative") if name in corpus.polarities]
    return Scored(
        np.array(corpus.gold()),
        probabilities,
        np.array(group),
        np.array(aspect),
        threshold,
        (signs[0], signs[1]) if len(signs) == 2 else None,
    )


def metrics(result: Scored, polarities: Sequence[str]) -> dict[str, float]:
    """SemEval's metrics for its five classes, SentiHood's for any other, and where no answer is neutral or conflict."""
    five = tuple(polarities) == SEMEVAL_POLARITIES and bool((result.gold > _OPINIONS).any())
    return semeval_metrics(result) if five else sentihood_metrics(result)


def summary(result: Scored, corpus: Corpus) -> dict[str, float]:
    """The metrics and ``"score"``, their mean, by which one model of several can be chosen."""
    values = metrics(result, corpus.polarities)
    finite = [value for value in values.values() if np.isfinite(value)]
    return {**values, "score": float(np.mean(finite))}


@dataclass(frozen=True)
class Controls:
    """Whether the model listens to the question.

    Args:
        wrong_aspect: Share of predictions that change when another aspect of the corpus is asked instead,
            over rows with an opinion and every other aspect.
        wrong_aspect_gold: The share that would change if every prediction were right.
        wrong_target: Share of predictions that change with the target, over (text, aspect) with two
            targets whose gold differs; NaN without any.
        both_targets: Share of these in which both predictions are right.
    """

    wrong_aspect: float
    wrong_aspect_gold: float
    wrong_target: float
    both_targets: float


def controls(result: Scored, corpus: Corpus) -> Controls:
    """Swap the aspect, and swap the target, among the questions that were asked anyway.

    A corpus asks every aspect of every (text, target), so that the prediction under a wrong context is
    the one made for that context: nothing needs to be asked again.
    """
    predicted, gold = result.predicted, result.gold
    changed: list[float] = []
    should: list[float] = []
    for number in np.unique(result.group):
        rows = np.flatnonzero(result.group == number)
        for row in rows[gold[rows] != 0]:
            others = rows[rows != row]
            changed += list(predicted[others] != predicted[row])
            should += list(gold[others] != gold[row])
    target_changes: list[bool] = []
    both: list[bool] = []
    start = 0
    for sentence in corpus.sentences:
        place = {context: start + i for i, context in enumerate(sentence.contexts)}
        start += len(sentence.contexts)
        for first, second in _two_targets(sentence):
            a, b = place[first], place[second]
            if gold[a] != gold[b]:
                target_changes.append(bool(predicted[a] != predicted[b]))
                both.append(bool(predicted[a] == gold[a] and predicted[b] == gold[b]))
    return Controls(_share(changed), _share(should), _share(target_changes), _share(both))


def _two_targets(sentence: Sentence) -> list[tuple[Context, Context]]:
    by_aspect: dict[str, list[Context]] = {}
    for context in sentence.contexts:
        by_aspect.setdefault(context.aspect, []).append(context)
    return [(found[0], found[1]) for found in by_aspect.values() if len(found) == 2]


def _share(values: Sequence[float] | Sequence[bool]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def calibration_error(result: Scored) -> float:
    """ECE of the most probable class, whatever the threshold: it is the probabilities that are tested."""
    likely = result.probabilities.argmax(axis=1)
    return expected_calibration_error(result.probabilities.max(axis=1), likely == result.gold)


def cross_calibrated(result: Scored, factor: Floats | None = None, folds: int = 5) -> Scored:
    """Probabilities calibrated with temperatures that never saw their own rows: groups are cut in folds.

    Args:
        result: The rows.
        factor: ``(rows,)``, how much less sure each is for its text's length; None where that does not count.
        folds: Parts into which the groups are cut.
    """
    fold = result.group % folds
    before, gold = result.probabilities, result.gold
    factor = np.ones(len(gold)) if factor is None else factor
    probabilities = np.empty_like(before)
    for number in np.unique(fold):
        rows = fold == number
        # One fold alone has nothing to be calibrated with.
        ratio = 1.0 if rows.all() else fit_ratio(before[~rows], factor[~rows], gold[~rows])
        probabilities[rows] = reheated(before[rows], factor[rows], ratio)
    return replace(result, probabilities=probabilities)


def report(asker: Asker, corpus: Corpus) -> dict[str, float]:
    """Everything that a results table needs, by name.

    Raises:
        InputError: The corpus's classes are not numbered as the model's.
    """
    check_classes(asker, corpus)
    heard = asker.hear(corpus.sentences)
    result = scored(corpus, np.concatenate([each.rows for each in heard]), asker.config.threshold)
    factor = np.concatenate([each.factor for each in heard])
    control = controls(result, corpus)
    calibrated = cross_calibrated(result, factor)
    of_gold = calibrated.probabilities[np.arange(len(result.gold)), result.gold]
    return {
        "accuracy": accuracy(result),
        "strict": strict_accuracy(result),
        **metrics(result, corpus.polarities),
        "wrong_aspect": control.wrong_aspect,
        "wrong_aspect_gold": control.wrong_aspect_gold,
        "wrong_target": control.wrong_target,
        "both_targets": control.both_targets,
        "ece": calibration_error(result),
        "ece_calibrated": calibration_error(calibrated),
        "nll": float(-np.log(np.maximum(of_gold, np.finfo(np.float64).tiny)).mean()),
        "temperature": fit_again(result.probabilities, factor, result.gold, asker.config.temperature),
        "threshold": asker.config.threshold,
        **floors(result),
    }
