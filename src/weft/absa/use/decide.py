"""From probabilities to an answer: the most probable class, or the most probable opinion from a threshold on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.absa.checks import check_threshold


def decide(probabilities: NDArray[np.float64], threshold: float = 0.5) -> NDArray[np.int64]:
    """The class of every row.

    o = argmax over the opinions of p;   answer = o where p_o / (p_o + p_none) > t, else none

    At t = 0.5 this is the most probable class. A lower threshold reports more opinions, a higher one
    fewer; which opinion it is never depends on it.

    Args:
        probabilities: ``(rows, classes)``, class 0 is ``none``.
        threshold: t, in [0, 1].

    Raises:
        ConfigError: A threshold outside [0, 1].
    """
    check_threshold("threshold", threshold)
    opinion = probabilities[:, 1:].argmax(axis=1) + 1
    strongest = probabilities[np.arange(len(probabilities)), opinion]
    return np.where((1 - threshold) * strongest > threshold * probabilities[:, 0], opinion, 0)
