"""Answers to a question for what was good, or for what was not: how that moves what is read in them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.absa.records import NONE, Side
from weft.absa.represent.denied import is_denied
from weft.errors import ConfigError

Floats = NDArray[np.float64]
_ASKED: dict[str, str] = {"pros": "positive", "cons": "negative"}


def side_of(text: str, side: Side | None) -> Side | None:
    """What a text is read as an answer to: None where it begins by saying that there is nothing to name."""
    return None if side is None or is_denied(text) else side


class Odds(NamedTuple):
    """How much what was asked for says, in nats: what is added to log-probabilities, and how much these count.

    Args:
        scale: By how much the log-probabilities are multiplied.
        asked: Added to the polarity that was asked for.
        other: To the opposite one.
        neutral: To ``neutral``.
        none: To ``none``.
    """

    scale: float
    asked: float
    other: float
    neutral: float
    none: float


FITTED = Odds(0.75, 2.36, -0.58, -0.30, -0.02)
"""Fitted by ``recipes/absa_any_sides.py`` to what three writers marked."""


def leaning(rows: Floats, side: Side | None, classes: tuple[str, ...], odds: Odds = FITTED) -> Floats:
    """Probabilities of answers to such a question.

    ::

        p'(c) ∝ p(c)^scale · exp(b_c)

    b is ``asked`` for the polarity that the question asks for, ``other`` for the opposite one, ``neutral`` and ``none``
    for these, 0 for all else. So "better wifi" is blame where a form asks what could be better, and "staff were lovely"
    stays praise.

    Args:
        rows: ``(…, classes)``.
        side: What was asked for; None leaves them as they are.
        classes: Their names.
        odds: b, and the scale.

    Raises:
        ConfigError: The classes know no praise or blame.
    """
    if side is None:
        return rows
    check_sides(classes)
    asked = _ASKED[side]
    bias = {
        NONE: odds.none,
        "neutral": odds.neutral,
        **{name: odds.asked if name == asked else odds.other for name in _ASKED.values()},
    }
    tiny = np.finfo(np.float64).tiny
    logs = odds.scale * np.log(np.maximum(rows, tiny)) + np.array([bias.get(name, 0.0) for name in classes])
    shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def knows_sides(classes: tuple[str, ...]) -> bool:
    """Whether a model's classes know praise and blame."""
    return all(name in classes for name in _ASKED.values())


def check_sides(classes: tuple[str, ...]) -> None:
    """Refuse a model whose classes know no praise or blame.

    Raises:
        ConfigError: They do not.
    """
    missing = [name for name in _ASKED.values() if name not in classes]
    if missing:
        raise ConfigError(f"this model has no class {missing[0]!r}, which answers for pros or cons may be of")
