"""Fitting how sure a search is, to searches whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from weft.bcsd.presence.features import PRESENT, company
from weft.bcsd.presence.model import Fitted, among, stacked
from weft.bcsd.presence.trial import Known
from weft.errors import InputError
from weft.platform.confidence import Logistic, fit_logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RIDGE = 1e-4


@dataclass(frozen=True)
class Measured:
    """How good the confidences are where nine of ten functions are not in the index.

    Args:
        precision: Of the hits that are at least so sure: how many are right. NaN where there is none.
        recall: Of the functions that are there: how many have a right hit that is at least so sure.
        error: The expected calibration error, ten bins.
        absent: Of the functions that are at least .5 sure not to be there: how many are not.
    """

    precision: float
    recall: float
    error: float
    absent: float


def fit(known: Sequence[Known]) -> Fitted:
    """Fit all five maps.

    Trials that scatter the functions weigh as much as those that take away the whole library.

    Raises:
        InputError: There is nothing to fit them to.
    """
    if not known:
        raise InputError("nothing to fit the confidences of searches to")
    right, here = (np.concatenate([getattr(one, name) for one in known]) for name in ("right", "here"))
    weight = weights_of(known)

    def fitted(features: NDArray[np.float64], truth: NDArray[np.bool_]) -> Logistic:
        return fit_logistic(features, truth, weight, _RIDGE)

    alone = np.concatenate([stacked(one.leads) for one in known])
    contested = np.concatenate([among(one.leads) for one in known])
    first = fitted(contested, right)
    sure = first(contested)
    ends = np.cumsum([len(one.leads) for one in known])[:-1]
    parts = zip(known, np.split(sure, ends), strict=True)
    together = np.hstack([contested, np.concatenate([company(one.leads, part) for one, part in parts])])
    return Fitted(
        fitted(alone, right), fitted(alone, here), first, fitted(together, right), fitted(together, here)
    )


def judged(known: Sequence[Known], fitted: Fitted) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How sure each lead is right, and its function there, file by file."""
    parts = [fitted(one.leads) for one in known]
    right, here = (np.concatenate(column) for column in zip(*parts, strict=True))
    return right, here


def weights_of(known: Sequence[Known]) -> NDArray[np.float64]:
    """What each lead weighs, so that a tenth of the functions are there, scattered and by the library alike.

    Of the ways of :mod:`weft.bcsd.presence.trial`, ``scattered`` holds both. In the other half one of five libraries is
    there, half of its functions (``halved``), and nothing of the others (``gone``).
    """
    way = np.concatenate([np.full(len(one.leads), one.way, dtype=object) for one in known])
    here = np.concatenate([one.here for one in known])
    weight = np.full(len(way), 1e-9)
    parts = (
        ((way == "scattered") & here, PRESENT),
        ((way == "scattered") & ~here, 1 - PRESENT),
        ((way == "halved") & here, PRESENT),
        ((way == "halved") & ~here, PRESENT),
        ((way == "gone") & ~here, 1 - 2 * PRESENT),
    )
    for part, share in parts:
        if part.any():
            weight[part] = share / part.sum()
    return weight / weight.mean()


def measure(
    known: Sequence[Known], right: NDArray[np.float64], here: NDArray[np.float64], least: float
) -> Measured:
    """What confidences are worth.

    Args:
        known: The trials.
        right: How sure each lead is, in their order.
        here: How sure each function is there.
        least: How sure a hit must be.
    """
    truth, present = (np.concatenate([getattr(one, name) for one in known]) for name in ("right", "here"))
    weight = weights_of(known)
    kept = right >= least
    bins = np.minimum((right * 10).astype(int), 9)
    gaps = np.bincount(bins, weight * (truth - right), minlength=10)
    gone = here < 0.5
    return Measured(
        _mean(truth[kept], weight[kept]),
        float((weight * (kept & truth)).sum() / (weight * present).sum()),
        float(np.abs(gaps).sum() / weight.sum()),
        _mean(~present[gone], weight[gone]),
    )


def _mean(values: NDArray[np.bool_], weight: NDArray[np.float64]) -> float:
    return float(np.average(values, weights=weight)) if len(values) else float("nan")
