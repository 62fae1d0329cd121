"""How sure a hit of a search is: a probability, fitted on packages that the model was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Functions below it have at most :data:`LOW`.
SMALL = 5
LOW = 0.25
FEATURES = ("score", "margin", "size")
_STEPS = 50


@dataclass(frozen=True)
class Confidence:
    """A logistic model of whether a hit is the function that was asked for.

        p_j = σ(c_0 + Σ_f c_f · x^f_j)        x = (score, margin, log₂ of the shorter function's instructions)

    The margin is the score less the best score of a candidate with other tokens; nearly all depends on it.

    The defaults were fitted with ``bcsd-small`` on its validation packages by ``recipes/bcsd_search_confidence.py``;
    with another model they order hits, but are no probabilities.

    Args:
        intercept: c_0.
        coefficients: c_f, one for each of :data:`FEATURES`.
    """

    intercept: float = -4.0
    coefficients: tuple[float, float, float] = (-5.6, 29.62, 0.1)

    def of(
        self, query: dict[str, Any], rows: Sequence[dict[str, Any]], scores: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """The confidence in each candidate of one query.

        Args:
            query: Its columns.
            rows: The candidates' columns.
            scores: ``(candidates,)``.

        Returns:
            ``(candidates,)``, between 0 and 1; at most :data:`LOW` where either function is small.
        """
        confidences = self.probabilities(features_of(query, rows, scores))
        small = np.array([min(row["num_blocks"], query["num_blocks"]) < SMALL for row in rows], bool)
        return np.where(small, np.minimum(confidences, LOW), confidences)

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each row of features, ``(candidates,)``, above 0 and below 1."""
        logits = self.intercept + features @ np.array(self.coefficients)
        return 1 / (1 + np.exp(-np.clip(logits, -30, 30)))


def fit_confidence(
    features: NDArray[np.float64], right: NDArray[np.bool_], ridge: float = 1e-6
) -> Confidence:
    """The coefficients that make what was observed most likely, by Newton's method.

    Args:
        features: ``(hits, 3)``, of :func:`features_of`.
        right: ``(hits,)``, whether each was the function that was asked for.
        ridge: Weight of the penalty on the squared coefficients, for hits that a plane separates.

    Raises:
        InputError: All hits are right, or none is.
    """
    if right.all() or not right.any():
        raise InputError("a confidence needs hits that are right and hits that are not")
    inputs = np.concatenate([np.ones((len(features), 1)), features], axis=1)
    weights = np.zeros(inputs.shape[1])
    penalty = ridge * len(inputs) * np.diag([0.0] + [1.0] * features.shape[1])
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (expected - right) + penalty @ weights
        bend = (inputs * (expected * (1 - expected))[:, None]).T @ inputs + penalty
        weights = weights - np.linalg.solve(bend + 1e-9 * np.eye(len(bend)), slope)
    intercept, *rest = (float(value) for value in weights)
    return Confidence(intercept, (rest[0], rest[1], rest[2]))


def features_of(
    query: dict[str, Any], rows: Sequence[dict[str, Any]], scores: NDArray[np.floating]
) -> NDArray[np.float64]:
    """What the confidence is computed from, ``(candidates, 3)``."""
    if not len(rows):
        return np.zeros((0, len(FEATURES)))
    tokens = np.array([row["token_digest"] for row in rows])
    order = np.argsort(-scores, kind="stable")
    best = scores[order[0]]
    others = scores[tokens != tokens[order[0]]]
    second = others.max() if len(others) else best - 1
    rival = np.where(tokens == tokens[order[0]], second, best)
    lengths = [min(row["num_instructions"], query["num_instructions"]) for row in rows]
    return np.stack([scores, scores - rival, np.log2(np.maximum(lengths, 1))], axis=1).astype(np.float64)
