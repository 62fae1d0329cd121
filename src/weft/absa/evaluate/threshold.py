"""The decision threshold of a model, chosen on labelled texts that did not train it, by a stated criterion.

The most probable class is the best answer to one question. Strict accuracy and macro-F1 are about several
questions at once and want different things: a false opinion spoils a group for the first, a missed one costs
the second more. One number decides between them, and it should be chosen on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from weft.absa.checks import check_temperature, check_threshold
from weft.absa.evaluate.metrics import Scored, macro_f1, strict_accuracy
from weft.absa.evaluate.report import calibration_error, check_classes, scored
from weft.absa.evaluate.temperature import fit_again
from weft.absa.records import Corpus
from weft.absa.use.asker import Asker
from weft.errors import ConfigError

Criterion: TypeAlias = Literal["mean", "macro-f1", "strict"]
"""What a threshold is chosen for.

``mean``      the mean of strict accuracy and macro-F1
``macro-f1``  macro-F1, among the thresholds whose strict accuracy is within ``give`` of the best
``strict``    strict accuracy
"""

GRID = tuple(round(0.01 * step, 2) for step in range(10, 91))
"""The thresholds that are tried."""


@dataclass(frozen=True)
class Tried:
    """What a threshold gives on a corpus."""

    threshold: float
    strict: float
    macro_f1: float


def curve(result: Scored, grid: Sequence[float] = GRID) -> list[Tried]:
    """Strict accuracy and macro-F1 at every threshold of the grid."""
    tried: list[Tried] = []
    for threshold in grid:
        at = replace(result, threshold=threshold)
        tried.append(Tried(threshold, strict_accuracy(at), macro_f1(at)))
    return tried


def choose_threshold(
    result: Scored, criterion: Criterion = "mean", *, give: float = 0.005, grid: Sequence[float] = GRID
) -> float:
    """The threshold that is best by the criterion; of equally good ones the one nearest to 0.5.

    Args:
        result: Calibrated probabilities of texts that did not train the model.
        criterion: See :data:`Criterion`.
        give: Of ``macro-f1``: how much strict accuracy may be given up.
        grid: The thresholds to try.

    Raises:
        ConfigError: An unknown criterion, or a negative ``give``.
    """
    if criterion not in get_args(Criterion):
        raise ConfigError(f"criterion is {criterion!r}; it must be one of {', '.join(get_args(Criterion))}")
    if give < 0:
        raise ConfigError(f"give is {give}; it must be at least 0")
    tried = curve(result, grid)
    if criterion == "macro-f1":
        least = max(at.strict for at in tried) - give
        tried = [at for at in tried if at.strict >= least - 1e-12]
    worth = {
        "mean": lambda at: (at.strict + at.macro_f1) / 2,
        "macro-f1": lambda at: at.macro_f1,
        "strict": lambda at: at.strict,
    }[criterion]
    best = max(map(worth, tried))
    good = [at.threshold for at in tried if worth(at) >= best - 1e-12]
    return min(good, key=lambda threshold: abs(threshold - 0.5))


@dataclass(frozen=True)
class Calibration:
    """What was fitted on labelled texts.

    Args:
        temperature: Of the probabilities.
        threshold: Of the decision.
        before: The texts under temperature and threshold as the model had them.
        after: The same under the new ones; optimistic where they were fitted on these texts.
        crossed: The new temperature with thresholds that never saw their own groups; None where the
            threshold was given.
    """

    temperature: float
    threshold: float
    before: Scored
    after: Scored
    crossed: Scored | None

    def record(self) -> dict[str, float]:
        """Everything by name, for a report."""
        found = {"temperature": self.temperature, "threshold": self.threshold}
        for name, at in (("before", self.before), ("after", self.after), ("crossed", self.crossed)):
            if at is not None:
                found |= {f"{name}: strict": strict_accuracy(at), f"{name}: macro_f1": macro_f1(at)}
        return found | {
            "before: ece": calibration_error(self.before),
            "after: ece": calibration_error(self.after),
        }


def calibrate(
    asker: Asker,
    corpus: Corpus,
    *,
    criterion: Criterion = "mean",
    give: float = 0.005,
    temperature: float | None = None,
    threshold: float | None = None,
) -> Calibration:
    """Fit the temperature, then choose the threshold on the probabilities that it gives.

    Args:
        asker: The model.
        corpus: Labelled texts that did not train it.
        criterion: See :data:`Criterion`.
        give: See :func:`choose_threshold`.
        temperature: Taken instead of being fitted, where given.
        threshold: Taken instead of being chosen, where given.

    Raises:
        InputError: The corpus's classes are not numbered as the model's.
        ConfigError: A temperature that is not positive, a threshold outside [0, 1].
    """
    check_classes(asker, corpus)
    if temperature is not None:
        check_temperature("temperature", temperature)
    if threshold is not None:
        check_threshold("threshold", threshold)
    heard = asker.hear(corpus.sentences)
    before = scored(corpus, np.concatenate([each.rows for each in heard]), asker.config.threshold)
    stored = asker.config.temperature
    if temperature is None:
        factor = np.concatenate([each.factor for each in heard])
        temperature = fit_again(before.probabilities, factor, before.gold, stored)
    at_new = replace(before, probabilities=np.concatenate([each.at(temperature / stored) for each in heard]))
    crossed = None
    if threshold is None:
        crossed = cross_decided(at_new, criterion, give=give)
        threshold = choose_threshold(at_new, criterion, give=give)
    return Calibration(temperature, threshold, before, replace(at_new, threshold=threshold), crossed)


def cross_decided(
    result: Scored, criterion: Criterion = "mean", *, give: float = 0.005, folds: int = 5
) -> Scored:
    """Answers under thresholds that never saw their own rows: groups are cut in folds.

    Args:
        result: Calibrated probabilities.
        criterion: See :data:`Criterion`.
        give: See :func:`choose_threshold`.
        folds: Parts into which the groups are cut.

    Returns:
        The rows at threshold 0.5, with P(none) scaled by t / (1 − t) so that this decides as each fold's t does.
    """
    fold = result.group % folds
    probabilities = result.probabilities.copy()
    for number in np.unique(fold):
        inside = fold == number
        if not inside.all():
            chosen = choose_threshold(_rows(result, ~inside), criterion, give=give)
            probabilities[inside, 0] *= chosen / (1 - chosen)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return replace(result, probabilities=probabilities, threshold=0.5)


def _rows(result: Scored, kept: NDArray[np.bool_]) -> Scored:
    return Scored(
        result.gold[kept],
        result.probabilities[kept],
        result.group[kept],
        result.aspect[kept],
        signs=result.signs,
    )
