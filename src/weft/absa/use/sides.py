"""Answers to a question for what was good, or for what was not: how that moves what is read in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.absa.records import NONE, Side, check_side
from weft.absa.represent.denied import behind_denial, has_words
from weft.errors import ConfigError, InputError

Floats = NDArray[np.float64]
_ASKED: dict[str, str] = {"pros": "positive", "cons": "negative"}


def side_of(text: str, side: Side | None) -> Side | None:
    """What a text is read as an answer to: None where it begins by saying that there is nothing to name."""
    return side if rest_of(text, side) is None else None


def rest_of(text: str, side: Side | None) -> str | None:
    """What an answer says behind saying that there is nothing to name; None where it does not say so.

    Without a side there is nothing to deny: "" where the text has no words, else None.
    """
    if side is None:
        return None if has_words(text) else ""
    return behind_denial(text)


def side_of_each(
    texts: Sequence[str], sides: Side | Sequence[Side | None] | None, classes: tuple[str, ...]
) -> list[Side | None]:
    """What each text was asked for, where one side is given for all, or one for each.

    Raises:
        ConfigError: The classes know no praise or blame.
        InputError: Sides of another number than texts, or what is none.
    """
    if sides is None or isinstance(sides, str):
        check_side(sides)
        sides = [sides for _ in texts]
    found: list[Side | None] = [*sides]
    if len(found) != len(texts):
        raise InputError(f"{len(found)} sides of {len(texts)} texts", hint="give one for each, or one")
    for side in found:
        check_side(side)
    if any(found):
        check_sides(classes)
    return found


class Odds(NamedTuple):
    """How much what was asked for says, in nats: what is added to log-probabilities, and how much these count.

    Args:
        scale: By how much the log-probabilities are multiplied.
        asked: Added to the polarity that was asked for.
        other: To the opposite one.
        neutral: To ``neutral``.
    """

    scale: float
    asked: float
    other: float
    neutral: float


FITTED = Odds(1.28, 1.76, -2.58, -1.60)
"""Fitted by ``recipes/absa_any_sides.py`` to what three writers marked, as ``absa-any`` reads it; other models take the
same."""


def leaning(rows: Floats, side: Side | None, classes: tuple[str, ...], odds: Odds = FITTED) -> Floats:
    """Probabilities of answers to such a question.

    ::

        p'(none) = p(none);   p'(c) ∝ p(c)^scale · exp(b_c)   for all others

    b is ``asked`` for the polarity that the question asks for, ``other`` for the opposite one, ``neutral`` for that, 0
    for all else. How likely there is none stays as it is: who is asked what could be better speaks of few things.
    So "better wifi" is blame where a form asks what could be better, and "staff were lovely" stays praise.

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
        "neutral": odds.neutral,
        **{name: odds.asked if name == asked else odds.other for name in _ASKED.values()},
    }
    opinions = [number for number, name in enumerate(classes) if name != NONE]
    given = np.maximum(rows[..., opinions], np.finfo(np.float64).tiny)
    logs = odds.scale * np.log(given) + np.array([bias.get(classes[number], 0.0) for number in opinions])
    shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
    shares *= rows[..., opinions].sum(axis=-1, keepdims=True) / shares.sum(axis=-1, keepdims=True)
    found = rows.copy()
    found[..., opinions] = shares
    return found


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
