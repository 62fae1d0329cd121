"""The temperature of a model, fitted on answers that are less sure about long texts than about short ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.absa.use.sureness import reheated
from weft.platform.confidence import BESIDE, fit_temperature

Floats = NDArray[np.float64]
_COLDEST, _HOTTEST = 0.02, 50.0
_TRIED, _ROUNDS = 21, 5


def logits_of(probabilities: Floats) -> Floats:
    """Logits, up to a constant of each row, that give these probabilities."""
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))


def fit_ratio(probabilities: Floats, factor: Floats, gold: NDArray[np.int64]) -> float:
    """The likeliest temperature in the one that the probabilities have.

        min over r of  − Σ_i (log P_r(gold_i) + b·mean_c log P_r(c))        b = 2 / rows

    P_r is that of :func:`weft.absa.use.sureness.reheated`. Where no text's length counts it is
    :func:`weft.platform.confidence.fit_temperature`, which says why two answers of any class are seen beside the rows.
    Of long texts the windows that speak now are fitted.

    Args:
        probabilities: ``(rows, classes)``.
        factor: ``(rows,)``, L of each row.
        gold: ``(rows,)``.
    """
    if (factor == 1).all() or (gold == gold[0]).all():
        return fit_temperature(logits_of(probabilities), gold).value

    def loss(ratio: float) -> float:
        logs = logits_of(reheated(probabilities, factor, ratio))
        return -float(logs[np.arange(len(gold)), gold].sum() + BESIDE * logs.mean())

    # The loss need not be convex: a grid, and finer ones around its best.
    low, high = np.log(_COLDEST), np.log(_HOTTEST)
    best = 0.0
    for _ in range(_ROUNDS):
        tried = np.linspace(low, high, _TRIED)
        best = float(min(tried, key=lambda at: loss(float(np.exp(at)))))
        step = (high - low) / (_TRIED - 1)
        low, high = max(np.log(_COLDEST), best - step), min(np.log(_HOTTEST), best + step)
    return float(np.exp(best))


def fit_again(probabilities: Floats, factor: Floats, gold: NDArray[np.int64], temperature: float) -> float:
    """The likeliest temperature, from 0.02 to 50 whatever the one is that the probabilities have.

    Args:
        probabilities: See :func:`fit_ratio`.
        factor: See :func:`fit_ratio`.
        gold: See :func:`fit_ratio`.
        temperature: That the probabilities have.
    """
    return float(np.clip(fit_ratio(probabilities, factor, gold) * temperature, _COLDEST, _HOTTEST))
