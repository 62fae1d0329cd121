"""Which lifter made a table's operations: two tables are compared by them only if it is the same."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

#: Raised whenever the same bytes would give other features.
LIFTER_VERSION = 1


def lifter_name(pypcode: str) -> str:
    """The name that tables carry."""
    return f"pcode-{LIFTER_VERSION}+pypcode-{pypcode}"


def available_lifter() -> str:
    """The name of the lifter that is installed, without importing it; empty if there is none."""
    try:
        return lifter_name(installed("pypcode"))
    except PackageNotFoundError:
        return ""
