"""Fitting a matching rule to validation packages: the worth of each kind of evidence, then the confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from weft.bcsd.matching.pairs.evidence import KINDS
from weft.bcsd.matching.pairs.pairing import Pairs
from weft.bcsd.matching.rule import Rule
from weft.bcsd.matching.trial import Trial
from weft.errors import InputError
from weft.objective.metrics import expected_calibration_error
from weft.platform.confidence import Logistic, fit_logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Where the fit begins; the result does not hang on it.
START = Rule(
    score=10.0,
    evidence=(1.0,) * len(KINDS),
    confidence=Logistic(-4.0, (1.0, 0.1, 0.0, 0.0, 0.0, 1.0, 2.0, 4.0, *(0.0,) * 6)),
    floor=0.2,
)
#: Weight of a pair of functions of files that were made to lack each other's functions, or that are unrelated,
#: beside one of two builds of a package: chosen by :func:`held_out_error` on the validation packages.
LESSER = 0.3
#: Other packages whose files each file is held against: all of them would be many, and weigh more than what is known.
STRANGERS = 2
_ROUNDS = 3
_RIDGE = 1e-3


@dataclass(frozen=True)
class Lessons:
    """What a rule is fitted to.

    Args:
        known: Pairs of builds of the same package.
        fewer: The same where each file lacks functions of the other: :func:`weft.bcsd.matching.trial.with_fewer`.
        unrelated: Pairs of builds of different packages, in which no match is right.
    """

    known: Sequence[Trial]
    fewer: Sequence[Trial] = ()
    unrelated: Sequence[Trial] = ()

    def weighed(self) -> list[tuple[Trial, float]]:
        """Every trial, and what each of its pairs weighs in the fit of the confidence."""
        lesser = [(trial, LESSER) for trial in (*self.fewer, *self.unrelated)]
        return [(trial, 1.0) for trial in self.known] + lesser


class Judged(NamedTuple):
    """Pairs that can be judged.

    Args:
        features: ``(pairs, len(FEATURES))``.
        right: ``(pairs,)``.
        weight: ``(pairs,)``.
    """

    features: NDArray[np.float64]
    right: NDArray[np.bool_]
    weight: NDArray[np.float64]


def fit_rule(lessons: Lessons, version: str = "") -> Rule:
    """Fit a rule.

    Evidence from the call graph depends on the matching, and the matching on the weights: both are
    computed in turn, three times.

    Args:
        lessons: What to fit it to.
        version: Of the model.

    Raises:
        InputError: There is nothing to fit it to.
    """
    if not lessons.known:
        raise InputError("a rule needs pairs of builds whose answers are known")
    rule = replace(START, model=version)
    for _ in range(_ROUNDS):
        rule = _fit_weights(lessons.known, [trial.pair(rule) for trial in lessons.known], rule)
        rule = fit_confidence(judged(lessons, rule), rule)
    return replace(rule, floor=_best_floor(lessons.known, rule))


def refit(lessons: Lessons, rule: Rule) -> Rule:
    """The rule with another confidence: the worth of the evidence and the floor stay, and so do nearly all matches.

    Args:
        lessons: What to fit it to.
        rule: The rule as it is; how sure it is of pairs decides a few of the pairs.
    """
    return fit_confidence(judged(lessons, rule), rule)


def held_out_error(lessons: Lessons, rule: Rule) -> float:
    """Calibration error of the confidence in pairs of related files, each package judged by a fit without it.

    The weights of the evidence stay; pairs below the rule's floor are no matches and do not count.

    Args:
        lessons: What the rule was fitted to.
        rule: The rule.

    Returns:
        The expected calibration error, mean over the packages: errors of opposite sign do not cancel, so this is
        what to expect of a further package. NaN where there are not two packages, or one has no match at all.
    """
    packages = sorted({trial.a.package for trial in lessons.known})
    if len(packages) < 2:
        return float("nan")
    parts = [
        ({trial.a.package, trial.b.package}, _judged(trial, rule, weight))
        for trial, weight in lessons.weighed()
    ]
    errors: list[float] = []
    for package in packages:
        without = fit_confidence(_joined([part for names, part in parts if package not in names]), rule)
        asked = judged(Lessons([trial for trial in lessons.known if trial.a.package == package]), without)
        confidence = without.confidence(asked.features)
        kept = confidence >= rule.floor
        if not kept.any():
            return float("nan")
        errors.append(expected_calibration_error(confidence[kept], asked.right[kept]))
    return float(np.mean(errors))


def judged(lessons: Lessons, rule: Rule) -> Judged:
    """Match every trial, and judge what can be judged."""
    return _joined([_judged(trial, rule, weight) for trial, weight in lessons.weighed()])


def _judged(trial: Trial, rule: Rule, weight: float) -> Judged:
    pairs = trial.pair(rule)
    known, right = trial.judge(pairs)
    return Judged(pairs.features[known], right[known], np.full(int(known.sum()), weight))


def _joined(parts: Sequence[Judged]) -> Judged:
    return Judged(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def fit_confidence(pairs: Judged, rule: Rule) -> Rule:
    """The rule with the confidence that makes these pairs most likely."""
    return replace(rule, confidence=fit_logistic(pairs.features, pairs.right, pairs.weight, _RIDGE))


def _fit_weights(known: Sequence[Trial], matched: Sequence[Pairs], rule: Rule) -> Rule:
    """The weights w ≥ 0 under which the right partner is most probable, by row and by column.

        min −Σ_trials mean_(i, j) right [log softmax_j'(u_ij')_j + log softmax_i'(u_i'j)_i]

    Args:
        known: Trials with their truth.
        matched: Their pairs so far, with the evidence that these led to.
        rule: Where to start.
    """
    problems = [_problem(trial, pairs) for trial, pairs in zip(known, matched, strict=True)]

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        total = float(_RIDGE * weights[1:] @ weights[1:])
        slope = np.concatenate([[0.0], 2 * _RIDGE * weights[1:]])
        for parts, rows, columns in problems:
            utilities = np.tensordot(weights, parts, axes=1)
            for axis, chosen in ((1, rows), (0, columns)):
                picked = utilities.take(chosen, axis=1 - axis)
                normal = np.asarray(logsumexp(picked, axis=axis, keepdims=True))
                total -= float((utilities[rows, columns] - normal.reshape(-1)).mean())
                shares = np.exp(picked - normal) / len(rows)
                inside = parts.take(chosen, axis=2 - axis)
                slope += np.tensordot(inside, shares, axes=2) - parts[:, rows, columns].mean(axis=1)
        return total, slope

    start = np.array([rule.score, *rule.evidence])
    found = minimize(loss, start, jac=True, bounds=[(0, None)] * len(start), method="L-BFGS-B")
    return replace(rule, score=float(found.x[0]), evidence=tuple(map(float, found.x[1:])))


def _problem(trial: Trial, pairs: Pairs) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    parts = [trial.scores.corrected, *(pairs.evidence[kind].toarray() for kind in KINDS)]
    return np.stack(parts).astype(np.float32), *trial.truth()


def _best_floor(known: Sequence[Trial], rule: Rule) -> float:
    """The confidence below which leaving pairs out gains more than it loses: the highest F2.

    Recall counts twice as much as precision: a pair that is left out is gone, a wrong one says how unsure it is.
    """
    pairs = judged(Lessons(known), rule)
    there = sum(len(trial.truth()[0]) for trial in known)
    p = rule.confidence(pairs.features)
    order = np.argsort(-p, kind="stable")
    hits = np.cumsum(pairs.right[order])
    f2 = 5 * hits / (np.arange(1, len(p) + 1) + 4 * there)
    return round(float(p[order][int(np.argmax(f2))]), 3)
