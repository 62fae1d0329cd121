"""Values that someone gave, and the rule that each must keep."""

from __future__ import annotations

import math
from numbers import Real

from weft.errors import ConfigError


def at_least(least: float, **values: float | None) -> None:
    """Check numbers by the names of their arguments; None was not given.

    Raises:
        ConfigError: One is smaller, or no number.
    """
    for name, value in values.items():
        if value is not None and not (isinstance(value, Real) and value >= least):
            raise ConfigError(f"{name} is {value!r}; it must be at least {least}")


def share(**values: float | None) -> None:
    """Check probabilities by the names of their arguments; None was not given.

    Raises:
        ConfigError: One lies outside [0, 1], or is no number.
    """
    for name, value in values.items():
        if value is not None and not (isinstance(value, Real) and 0 <= value <= 1):
            raise ConfigError(f"{name} is {value!r}; it must be in [0, 1]")


def is_number(value: object) -> bool:
    """Whether a value is a finite number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def require(settings: object, name: str, holds: bool, rule: str) -> None:
    """Check a field of a dataclass.

    Args:
        settings: The dataclass.
        name: The field.
        holds: Whether it keeps its rule.
        rule: What it must be: ``"at least 1"``.

    Raises:
        ConfigError: It does not; the error has class, field, value and rule.
    """
    if not holds:
        raise ConfigError(
            f"{type(settings).__name__}.{name} is {getattr(settings, name)!r}; it must be {rule}"
        )
