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
from weft.absa.evaluate.metrics import Scored, accuracy, macro_f1, strict_accuracy
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
    best = max(_worth(at.strict, at.macro_f1, criterion) for at in tried)
    good = [at.threshold for at in tried if _worth(at.strict, at.macro_f1, criterion) >= best - 1e-12]
    return min(good, key=lambda threshold: abs(threshold - 0.5))


def _worth(strict: float, f1: float, criterion: Criterion) -> float:
    """What a criterion maximises."""
    return {"mean": (strict + f1) / 2, "macro-f1": f1, "strict": strict}[criterion]


@dataclass(frozen=True)
class Calibration:
    """What was fitted on labelled texts.

    Args:
        temperature: Of the probabilities.
        threshold: Of the decision.
        chosen: The threshold that is best by the criterion; ``threshold`` is another one where this is no gain on texts
            that it did not see. None where the threshold was given.
        before: The texts under temperature and threshold as the model had them.
        after: The same under the new ones; optimistic where they were fitted on these texts.
        crossed: The new temperature with thresholds that never saw their own groups; None where the
            threshold was given.
    """

    temperature: float
    threshold: float
    chosen: float | None
    before: Scored
    after: Scored
    crossed: Scored | None

    @property
    def kept(self) -> bool:
        """Whether the answers stay as they were, because the threshold that is chosen is no gain."""
        return self.chosen is not None and self.chosen != self.threshold

    def record(self) -> dict[str, float]:
        """Everything by name, for a report."""
        found = {"temperature": self.temperature, "threshold": self.threshold}
        if self.chosen is not None:
            found["chosen"] = self.chosen
        for name, at in (("before", self.before), ("after", self.after), ("crossed", self.crossed)):
            if at is not None:
                found |= {
                    f"{name}: accuracy": accuracy(at),
                    f"{name}: strict": strict_accuracy(at),
                    f"{name}: macro_f1": macro_f1(at),
                }
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
    force: bool = False,
) -> Calibration:
    """Fit the temperature, then choose the threshold on the probabilities that it gives.

    The chosen threshold is taken where it is a gain on texts that it did not see: by the criterion, and without
    fewer right answers. Else the answers stay as they were (see :func:`same_answers`), and only the probabilities
    change.

    Args:
        asker: The model.
        corpus: Labelled texts that did not train it.
        criterion: See :data:`Criterion`.
        give: See :func:`choose_threshold`.
        temperature: Taken instead of being fitted, where given.
        threshold: Taken instead of being chosen, where given.
        force: Take the chosen threshold, gain or not.

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
    crossed = chosen = None
    if threshold is None:
        crossed = cross_decided(at_new, criterion, give=give)
        threshold = chosen = choose_threshold(at_new, criterion, give=give)
        if not force and not _gains(crossed, before, criterion):
            threshold = same_answers(before.threshold, temperature / stored)
    return Calibration(temperature, threshold, chosen, before, replace(at_new, threshold=threshold), crossed)


def same_answers(threshold: float, ratio: float) -> float:
    """The threshold that decides at another temperature as this one does now.

    An opinion is answered where z_o − z_none > T·log t/(1 − t); with T·ratio in place of T that is

        log t'/(1 − t') = log t/(1 − t) / ratio

    Where a text's length makes answers less sure it holds nearly, else exactly.

    Args:
        threshold: t.
        ratio: The other temperature, in this one.
    """
    if threshold in (0, 1):
        return threshold
    return float(1 / (1 + (1 / threshold - 1) ** (1 / ratio)))


def _gains(crossed: Scored, before: Scored, criterion: Criterion) -> bool:
    """Whether thresholds are better by the criterion on rows that they did not see, and not less often right."""
    new, old = (_worth(strict_accuracy(at), macro_f1(at), criterion) for at in (crossed, before))
    return new > old and accuracy(crossed) >= accuracy(before)


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
