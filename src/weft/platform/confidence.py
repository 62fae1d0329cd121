"""Probabilities that mean something: maps from scores to how often such answers are right, fitted and stored.

| map | from | fitted by |
|---|---|---|
| :class:`Temperature` | the logits of classes | the likeliest single divisor |
| :class:`Isotonic` | one score | the best rising function |
| :class:`Logistic` | several features | the likeliest linear combination |

Each is a JSON object with its ``kind`` and its numbers, exact to the bit: ``to_json`` and ``from_json``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.errors import CheckpointError, ConfigError, InputError, NonFiniteError, ShapeError, with_article

Floats = NDArray[np.float64]
_COLDEST, _HOTTEST = 0.02, 50.0
BESIDE = 2.0
"""So many answers that may be of any class are seen beside the items: the rule of succession."""
_FLAT = 1e-6
"""A feature that varies less is not stretched to unit deviation."""
_STEPS, _HALVINGS = 100, 40


class Calibration:
    """A fitted map; one of the kinds above."""

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """The map as a JSON object."""
        return {"kind": self.kind, **asdict(self)}  # pyright: ignore[reportArgumentType]: all kinds are dataclasses

    @classmethod
    def from_json(cls, record: Any, where: str = "calibration") -> Self:
        """The map that :meth:`to_json` gave: of this kind, of any where called on :class:`Calibration`.

        Raises:
            CheckpointError: Not such a map: another kind, other fields, values that break its rules.
        """
        kinds = {kind.kind: kind for kind in (Temperature, Isotonic, Logistic) if issubclass(kind, cls)}
        fields = dict(record) if isinstance(record, dict) else {}
        name = fields.pop("kind", None)
        kind = kinds.get(name) if isinstance(name, str) else None
        if kind is None:
            raise CheckpointError(f"kind is {name!r}; it must be one of {', '.join(kinds)}", where=where)
        try:
            numbers: dict[str, Any] = {
                field: tuple(map(float, value)) if isinstance(value, list) else float(value)
                for field, value in fields.items()
            }
            return kind(**numbers)
        except (TypeError, ValueError, OverflowError) as error:
            raise CheckpointError(f"not {with_article(name)} calibration: {error}", where=where) from error


@dataclass(frozen=True)
class Temperature(Calibration):
    """Scaled logits: p = softmax(z / T); for one logit per item p = σ(z / T).

    Args:
        value: T; above 1 it makes an over-confident model humbler. The order of the classes stays.

    Raises:
        InputError: It is not positive and finite.

    Source: Guo et al. 2017, On Calibration of Modern Neural Networks, §4.2.
    """

    kind: ClassVar[str] = "temperature"
    value: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.value > 0):
            raise InputError(f"a temperature of {self.value}; it must be a positive number")

    def __call__(self, logits: ArrayLike) -> Floats:
        """The probabilities of ``(items, classes)`` or, one logit each, ``(items,)``."""
        z = np.asarray(logits, dtype=np.float64)
        if z.ndim == 1:
            return _softmax(np.stack([np.zeros_like(z), z / self.value], axis=1))[:, 1]
        return _softmax(z / self.value)


@dataclass(frozen=True)
class Isotonic(Calibration):
    """A rising map from scores to probabilities, linear between its knots and flat outside them.

    Args:
        scores: The knots, ascending.
        probabilities: Their values in [0, 1], never falling.

    Raises:
        InputError: Knots that do not ascend or are not finite, values that fall or leave [0, 1].

    Source: Zadrozny & Elkan 2002, Transforming Classifier Scores into Accurate Multiclass Probability
    Estimates, §3.3.
    """

    kind: ClassVar[str] = "isotonic"
    scores: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        s, p = np.asarray(self.scores, dtype=np.float64), np.asarray(self.probabilities, dtype=np.float64)
        if s.ndim != 1 or s.shape != p.shape or not len(s):
            raise InputError(
                f"{s.shape} knots with {p.shape} values; as many of each are needed, at least one"
            )
        if not (np.isfinite(s).all() and np.isfinite(p).all()):
            raise InputError("a knot that is not finite")
        if (np.diff(s) <= 0).any() or (np.diff(p) < 0).any() or p[0] < 0 or p[-1] > 1:
            raise InputError("knots must ascend, and their values rise within [0, 1]")

    def __call__(self, scores: ArrayLike) -> Floats:
        """The probabilities of any number of scores."""
        s = np.asarray(scores, dtype=np.float64)
        _no_nan(s, "isotonic calibration")
        return np.interp(s, self.scores, self.probabilities)


@dataclass(frozen=True)
class Logistic(Calibration):
    """A linear combination of features: p = σ(c_0 + Σ_f c_f · x_f), never quite 0 or 1.

    Args:
        intercept: c_0.
        coefficients: c_f.

    Raises:
        InputError: A coefficient that is not finite.
    """

    kind: ClassVar[str] = "logistic"
    intercept: float
    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        if not np.isfinite([self.intercept, *self.coefficients]).all():
            raise InputError("a coefficient that is not finite")

    def __call__(self, features: ArrayLike) -> Floats:
        """The probability of each row of ``(items, features)``.

        Raises:
            ShapeError: Another number of features.
            NonFiniteError: NaN.
        """
        x = np.asarray(features, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != len(self.coefficients):
            raise ShapeError(f"features are {x.shape}; they must be (items, {len(self.coefficients)})")
        logits = self.intercept + x @ np.array(self.coefficients)
        _no_nan(logits, "logistic calibration")
        return _sigmoid(logits)


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> Temperature:
    """The temperature with the lowest negative log-likelihood, two answers of any class seen beside the items.

        NLL(β) = Σ_i logsumexp(β z_i) − β · (z_{i, y_i} + b·z̄_i) / (1 + b)        β = 1/T,  z̄_i = mean_k z_{i,k}
        dNLL/dβ = Σ_i Σ_k softmax(β z_i)_k · (z_{i,k} − z_{i, y_i})  −  b/(1 + b) · (z̄_i − z_{i, y_i})       b = 2/items

    The NLL is convex in β, so its derivative rises and bisection finds its zero: no step size, no start.
    The two answers, spread evenly over the items and their classes, are the rule of succession: of n equally sure ones
    that are all right a yes or no is right with (n + 1) / (n + 2), not with 1. Among thousands they are not felt.
    Where labels have lower logits than the mean, T ends at 50.
    Labels of one class say nothing of the others: then T is 1.

    Args:
        logits: ``(items, classes)``, or one logit each ``(items,)`` for a yes-or-no question.
        labels: Integer classes ``(items,)``.

    Raises:
        ShapeError: Shapes that do not fit, or no items.
        NonFiniteError: A logit that is not finite.
        InputError: A label that is not a class.

    Source: Guo et al. 2017, §4.2.
    """
    z, y = np.asarray(logits, dtype=np.float64), np.asarray(labels)
    if z.ndim == 1:
        z = np.stack([np.zeros_like(z), z], axis=1)
    if z.ndim != 2 or y.shape != z.shape[:1] or not z.size:
        raise ShapeError(
            f"logits are {z.shape}, labels are {y.shape}; they must be (items, classes) and (items,)"
        )
    if not np.isfinite(z).all():
        raise NonFiniteError("a logit is not finite", where="temperature scaling")
    y = y.astype(np.int64)
    if y.min() < 0 or y.max() >= z.shape[1]:
        raise InputError(f"labels from {y.min()} to {y.max()} for {z.shape[1]} classes")
    if y.min() == y.max():
        return Temperature(1.0)
    # Differences to the right class first: they do not cancel where its probability rounds to 1.
    gaps = z - z[np.arange(len(z)), y][:, None]
    beside = BESIDE / (len(z) + BESIDE) * float(gaps.mean(axis=1).sum())

    def slope(beta: float) -> float:
        return float((_softmax(beta * z) * gaps).sum()) - beside

    low, high = np.log(1 / _HOTTEST), np.log(1 / _COLDEST)
    # 60 halvings of log β leave less than rounding.
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(float(np.exp(middle))) < 0 else (low, middle)
    return Temperature(float(np.exp(-(low + high) / 2)))


def fit_isotonic(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> Isotonic:
    """The rising step function with the least squared error (pool adjacent violators).

        min Σ_i w_i (f(s_i) − y_i)²    subject to    s_i ≤ s_j ⇒ f(s_i) ≤ f(s_j)

    Items of one score are pooled first, so that they get one probability.

    Args:
        scores: Finite, ``(items,)``.
        labels: In [0, 1], ``(items,)``.
        weights: Positive, ``(items,)``; None weighs all alike.

    Raises:
        ShapeError: Shapes that do not fit, or no items.
        NonFiniteError: A score that is not finite.
        InputError: A label outside [0, 1], a weight that is not positive.

    Source: Ayer et al. 1955; Zadrozny & Elkan 2002, §3.3.
    """
    s = np.asarray(scores, dtype=np.float64)
    y, w = _answers(s, labels, weights, 1, "isotonic calibration")
    knots, which = np.unique(s, return_inverse=True)
    mass = np.bincount(which, weights=w)
    means = np.bincount(which, weights=w * y) / mass
    blocks: list[tuple[float, float, int]] = []  # mean, mass, number of knots
    for mean, weight in zip(means.tolist(), mass.tolist(), strict=True):
        block = (mean, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            before = blocks.pop()
            both = before[1] + block[1]
            block = ((before[0] * before[1] + block[0] * block[1]) / both, both, before[2] + block[2])
        blocks.append(block)
    fitted = np.repeat([block[0] for block in blocks], [block[2] for block in blocks]).clip(0, 1)
    # Only the ends of a flat piece are needed.
    inner = np.concatenate([[False], (fitted[1:-1] == fitted[:-2]) & (fitted[1:-1] == fitted[2:]), [False]])
    kept = ~inner[: len(fitted)]
    return Isotonic(tuple(knots[kept].tolist()), tuple(fitted[kept].tolist()))


def fit_logistic(
    features: ArrayLike, right: ArrayLike, weights: ArrayLike | None = None, ridge: float = 1e-6
) -> Logistic:
    """The coefficients that make what was observed most likely.

        min Σ_i w_i · log(1 + exp(∓(c_0 + c·x_i))) / Σ_i w_i  +  ridge · Σ_f (c_f · s_f)²

    − where the answer is right; s_f the standard deviation of feature f. By Newton's method, each step halved until
    it gets better. Where all n answers are right, or none is, or all by the same share q, the features say nothing:
    then p is (n·q + 1) / (n + 2) whatever they are.

    Args:
        features: Finite, ``(items, features)``.
        right: Whether each answer is, ``(items,)``.
        weights: Positive, ``(items,)``; None weighs all alike.
        ridge: Positive: answers that a plane separates have no likeliest coefficients without it.

    Raises:
        ShapeError: Shapes that do not fit, or no items.
        NonFiniteError: A feature that is not finite.
        InputError: A weight that is not positive.
        ConfigError: A ridge that is not positive.
    """
    if not (np.isfinite(ridge) and ridge > 0):
        raise ConfigError(f"ridge is {ridge}; it must be positive")
    x = np.asarray(features, dtype=np.float64)
    y, w = _answers(x, right, weights, 2, "logistic calibration")
    if y.min() == y.max():
        right_ones = len(y) * float(y[0])
        return Logistic(float(np.log((right_ones + 1) / (len(y) - right_ones + 1))), (0.0,) * x.shape[1])
    middle, scale = x.mean(axis=0), np.maximum(x.std(axis=0), _FLAT)
    design = np.column_stack([np.ones(len(x)), (x - middle) / scale])
    w = w / w.sum()
    penalty = np.append(0.0, np.full(x.shape[1], 2 * ridge))

    def loss(beta: Floats) -> float:
        z = design @ beta
        return float(w @ (np.logaddexp(0, z) - y * z) + (penalty / 2) @ beta**2)

    beta = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        p = _sigmoid(design @ beta)
        slope = design.T @ (w * (p - y)) + penalty * beta
        bend = (design * (w * p * (1 - p))[:, None]).T @ design + np.diag(penalty + 1e-12)
        step = np.linalg.solve(bend, slope)
        here = loss(beta)
        better = (beta - step / 2**n for n in range(_HALVINGS) if loss(beta - step / 2**n) < here)
        found = next(better, None)
        if found is None:
            break
        beta = found
    coefficients = beta[1:] / scale
    return Logistic(float(beta[0] - coefficients @ middle), tuple(coefficients.tolist()))


def threshold_at(confidences: Sequence[float], precision: float) -> float:
    """The lowest confidence to accept, for the accepted to be right this often together.

    The surest answers are accepted as long as the mean of their confidences is at least the precision: for
    calibrated confidences that mean is the expected share of right ones.

    Args:
        confidences: Of all answers.
        precision: The share of right ones that is wanted.

    Returns:
        The threshold; above 1 where no answer is sure enough.

    Raises:
        ConfigError: A precision outside (0, 1].
    """
    if not 0.0 < precision <= 1.0:
        raise ConfigError(f"precision is {precision}; it must be in (0, 1]")
    surest = np.sort(np.asarray(confidences, dtype=np.float64))[::-1]
    means = np.cumsum(surest) / np.arange(1, len(surest) + 1)
    # Answers of equal confidence are accepted together or not at all.
    last = np.append(surest[1:] < surest[:-1], True) if len(surest) else np.zeros(0, dtype=bool)
    enough = np.flatnonzero(last & (means >= precision - 1e-12))
    return float(surest[enough[-1]]) if len(enough) else float("inf")


def _answers(
    x: Floats, labels: ArrayLike, weights: ArrayLike | None, axes: int, where: str
) -> tuple[Floats, Floats]:
    """Labels and weights that fit the scores or features."""
    y = np.asarray(labels, dtype=np.float64)
    w = np.ones_like(y) if weights is None else np.asarray(weights, dtype=np.float64)
    if x.ndim != axes or x.shape[:1] != y.shape or y.shape != w.shape or not x.size:
        raise ShapeError(
            f"inputs are {x.shape}, labels {y.shape}, weights {w.shape}; as many of each are needed, at least one",
            where=where,
        )
    if not np.isfinite(x).all():
        raise NonFiniteError("an input is not finite", where=where)
    if not ((y >= 0) & (y <= 1)).all() or not (np.isfinite(w) & (w > 0)).all():
        raise InputError("labels must lie in [0, 1], weights be positive", where=where)
    return y, w


def _no_nan(values: Floats, where: str) -> None:
    if np.isnan(values).any():
        raise NonFiniteError(f"{int(np.isnan(values).sum())} scores are NaN", where=where)


def _sigmoid(z: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(z, -30, 30)))


def _softmax(z: Floats) -> Floats:
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
