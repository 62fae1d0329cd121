"""Numbers that someone gave, and the range that each must lie in."""

from __future__ import annotations

from weft.errors import ConfigError


def at_least(least: float, **values: float | None) -> None:
    """Check numbers by the names of their arguments; None was not given.

    Raises:
        ConfigError: One is smaller, or no number.
    """
    for name, value in values.items():
        if value is not None and not value >= least:
            raise ConfigError(f"{name} is {value}; it must be at least {least}")


def share(**values: float | None) -> None:
    """Check probabilities by the names of their arguments; None was not given.

    Raises:
        ConfigError: One lies outside [0, 1], or is no number.
    """
    for name, value in values.items():
        if value is not None and not 0 <= value <= 1:
            raise ConfigError(f"{name} is {value}; it must lie in [0, 1]")
