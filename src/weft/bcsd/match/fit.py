"""Fitting a matching rule to validation packages: the worth of each kind of evidence, then the confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_expit, logsumexp

from weft.bcsd.match.evidence import KINDS
from weft.bcsd.match.pairing import Pairs, pair
from weft.bcsd.match.rule import FEATURES, Rule
from weft.bcsd.match.trial import Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Where the fit begins; the result does not hang on it.
START = Rule(
    score=10.0, evidence=(1.0,) * len(KINDS), intercept=-3.0, coefficients=(0.3, 1.0, 0.0, 0.0), floor=0.2
)
_ROUNDS = 3
_RIDGE = 1e-3


def fit_rule(known: Sequence[Trial], unrelated: Sequence[Trial] = (), version: str = "") -> Rule:
    """Fit a rule.

    Evidence from the call graph depends on the matching, and the matching on the weights: both are
    computed in turn, three times.

    Args:
        known: Pairs of builds of the same package.
        unrelated: Pairs of builds of different packages, in which no match is right: they teach the confidence
            what such pairs look like.
        version: Of the model.
    """
    rule = replace(START, model=version)
    for _ in range(_ROUNDS):
        matched = [pair(trial.scores, trial.a, trial.b, rule) for trial in known]
        rule = _fit_weights(known, matched, rule)
        matched = [pair(trial.scores, trial.a, trial.b, rule) for trial in known]
        strangers = [pair(trial.scores, trial.a, trial.b, rule) for trial in unrelated]
        rule = _fit_confidence(known, matched, strangers, rule)
    return replace(rule, floor=_best_floor(known, rule))


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
    parts = [trial.scores, *(pairs.evidence[kind].toarray() for kind in KINDS)]
    return np.stack(parts).astype(np.float32), *trial.truth()


def _fit_confidence(
    known: Sequence[Trial], matched: Sequence[Pairs], strangers: Sequence[Pairs], rule: Rule
) -> Rule:
    """Logistic regression of "this pair is right" on its features, features scaled to unit deviation."""
    features: list[NDArray[np.float64]] = []
    labels: list[NDArray[np.bool_]] = []
    for trial, pairs in zip(known, matched, strict=True):
        judged, right = trial.judge(pairs)
        features.append(pairs.features[judged])
        labels.append(right[judged])
    for pairs in strangers:
        features.append(pairs.features)
        labels.append(np.zeros(len(pairs.rows), dtype=bool))
    x, y = np.concatenate(features), np.concatenate(labels)
    scale = np.maximum(x.std(axis=0), 1e-6)
    signs = np.where(y, 1.0, -1.0)
    design = np.column_stack([np.ones(len(x)), x / scale])

    def loss(beta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        reach = signs * (design @ beta)
        slope = -(design * (signs * np.exp(log_expit(-reach)))[:, None]).mean(axis=0)
        return -float(log_expit(reach).mean()) + _RIDGE * float(beta @ beta), slope + 2 * _RIDGE * beta

    found = minimize(loss, np.zeros(1 + len(FEATURES)), jac=True, method="L-BFGS-B")
    return replace(rule, intercept=float(found.x[0]), coefficients=tuple(map(float, found.x[1:] / scale)))


def _best_floor(known: Sequence[Trial], rule: Rule) -> float:
    """The confidence below which leaving pairs out gains more precision than it loses recall (highest F1)."""
    confidence: list[NDArray[np.float64]] = []
    labels: list[NDArray[np.bool_]] = []
    there = 0
    for trial in known:
        pairs = pair(trial.scores, trial.a, trial.b, rule)
        judged, right = trial.judge(pairs)
        confidence.append(pairs.confidence[judged])
        labels.append(right[judged])
        there += len(trial.truth()[0])
    p, y = np.concatenate(confidence), np.concatenate(labels)
    order = np.argsort(-p, kind="stable")
    hits = np.cumsum(y[order])
    f1 = 2 * hits / (np.arange(1, len(p) + 1) + there)
    return round(float(p[order][int(np.argmax(f1))]), 3)
