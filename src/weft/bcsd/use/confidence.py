"""How sure a hit of a search is: a probability, fitted on packages that the model was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.platform.confidence import Logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Functions below it have at most :data:`LOW`.
SMALL = 5
LOW = 0.25
_FITTED = Logistic(-4.29, (-5.64, 30.14, 0.171))
FEATURES = ("score", "margin", "size")


@dataclass(frozen=True)
class Confidence:
    """A logistic model of whether a hit is the function that was asked for.

        p_j = σ(c_0 + Σ_f c_f · x^f_j)        x = (score, margin, log₂ of the shorter function's instructions)

    The margin is the score less the best score of a candidate with other tokens; nearly all depends on it.

    The defaults were fitted with ``bcsd-small`` on its validation packages by ``recipes/bcsd_search_confidence.py``;
    with another model they order hits, but are no probabilities.

    Args:
        logistic: c_0, and c_f for each of :data:`FEATURES`.
    """

    logistic: Logistic = _FITTED

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
        confidences = self.logistic(features_of(query, rows, scores))
        small = np.array([min(row["num_blocks"], query["num_blocks"]) < SMALL for row in rows], bool)
        return np.where(small, np.minimum(confidences, LOW), confidences)


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
