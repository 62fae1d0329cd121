"""Probabilities that mean something: temperature scaling and isotonic regression, saved as JSON."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.errors import CheckpointError, InputError, NonFiniteError, ShapeError

Floats = NDArray[np.float64]
_COLDEST, _HOTTEST = 0.02, 50.0


@dataclass(frozen=True)
class Temperature:
    """Scaled logits: p = softmax(z / T); for one logit per item p = σ(z / T).

    Args:
        value: T; above 1 it makes an over-confident model humbler. The order of the classes stays.

    Source: Guo et al. 2017, On Calibration of Modern Neural Networks, §4.2.
    """

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
class Isotonic:
    """A rising map from scores to probabilities, linear between its knots and flat outside them.

    Args:
        scores: The knots, ascending.
        probabilities: Their values in [0, 1], never falling.

    Source: Zadrozny & Elkan 2002, Transforming Classifier Scores into Accurate Multiclass Probability
    Estimates, §3.3.
    """

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
        if np.isnan(s).any():
            raise NonFiniteError(f"{int(np.isnan(s).sum())} scores are NaN", where="isotonic calibration")
        return np.interp(s, self.scores, self.probabilities)


Calibration = Temperature | Isotonic
_KINDS: dict[str, type[Temperature] | type[Isotonic]] = {"temperature": Temperature, "isotonic": Isotonic}


def fit_temperature(logits: ArrayLike, labels: ArrayLike) -> Temperature:
    """The temperature with the lowest negative log-likelihood.

        NLL(β) = Σ_i logsumexp(β z_i) − β z_{i, y_i}        β = 1/T
        dNLL/dβ = Σ_i Σ_k softmax(β z_i)_k · (z_{i,k} − z_{i, y_i})

    The NLL is convex in β, so its derivative rises and bisection finds its zero: no step size, no start.
    Where every label has the highest logit (the best T is 0), or none has (it is ∞), T ends at 0.02 or 50.

    Args:
        logits: ``(items, classes)``, or one logit each ``(items,)`` for a yes-or-no question.
        labels: Integer classes ``(items,)``.

    Raises:
        ShapeError: Shapes that do not fit.
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
    # Differences to the right class first: they do not cancel where its probability rounds to 1.
    gaps = z - z[np.arange(len(z)), y][:, None]

    def slope(beta: float) -> float:
        return float((_softmax(beta * z) * gaps).sum())

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
        ShapeError: Shapes that do not fit.
        NonFiniteError: A score that is not finite.
        InputError: A label outside [0, 1], a weight that is not positive.

    Source: Ayer et al. 1955; Zadrozny & Elkan 2002, §3.3.
    """
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    w = np.ones_like(s) if weights is None else np.asarray(weights, dtype=np.float64)
    if s.ndim != 1 or s.shape != y.shape or s.shape != w.shape or not len(s):
        raise ShapeError(f"scores are {s.shape}, labels {y.shape}, weights {w.shape}; all must be (items,)")
    if not np.isfinite(s).all():
        raise NonFiniteError("a score is not finite", where="isotonic calibration")
    if not ((y >= 0) & (y <= 1)).all() or not (np.isfinite(w) & (w > 0)).all():
        raise InputError("labels must lie in [0, 1], weights be positive")
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


def to_json(calibration: Calibration) -> dict[str, Any]:
    """The calibration as a JSON object."""
    kind = next(name for name, cls in _KINDS.items() if isinstance(calibration, cls))
    return {"kind": kind, **asdict(calibration)}


def from_json(record: Any, where: str = "calibration") -> Calibration:
    """The calibration that :func:`to_json` gave.

    Raises:
        CheckpointError: Not a calibration: an unknown kind, other fields, values that break its rules.
    """
    fields = dict(record) if isinstance(record, dict) else {}
    kind = fields.pop("kind", None)
    if kind not in _KINDS:
        raise CheckpointError(f"kind is {kind!r}; it must be one of {', '.join(_KINDS)}", where=where)
    try:
        if kind == "temperature":
            return Temperature(**{name: float(value) for name, value in fields.items()})
        return Isotonic(**{name: tuple(map(float, values)) for name, values in fields.items()})
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"not a {kind} calibration: {error}", where=where) from error


def save_calibration(calibration: Calibration, path: str | Path) -> None:
    """Write a calibration as JSON, atomically.

    Raises:
        CheckpointError: The file cannot be written.
    """
    place = Path(path)
    partial = place.with_name(f".{place.name}.part")
    try:
        partial.write_text(json.dumps(to_json(calibration)) + "\n", encoding="utf-8")
        os.replace(partial, place)
    except OSError as error:
        raise CheckpointError(f"cannot save: {error.strerror or error}", where=str(place)) from error


def load_calibration(path: str | Path) -> Calibration:
    """Read a calibration.

    Raises:
        CheckpointError: The file is missing or holds no calibration.
    """
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(f"cannot be read: {error}", where=str(path)) from error
    return from_json(record, where=str(path))


def _softmax(z: Floats) -> Floats:
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
