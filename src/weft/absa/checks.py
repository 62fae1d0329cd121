"""Checks of what makes an answer of probabilities; no torch, so that the command line can refuse at once."""

from __future__ import annotations

import math
from numbers import Real

from weft.errors import ConfigError
from weft.platform.ranges import share


def check_temperature(name: str, value: float) -> None:
    """Check a temperature.

    Raises:
        ConfigError: It is not positive and finite.
    """
    if not (isinstance(value, Real) and 0 < value < math.inf):
        raise ConfigError(f"{name} is {value!r}; it must be positive")


def check_threshold(name: str, value: float) -> None:
    """Check a decision threshold.

    Raises:
        ConfigError: It is not in [0, 1].
    """
    share(**{name: value})
