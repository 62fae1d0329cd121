"""Names of a package that are imported when they are first asked for (PEP 562)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import Any


def lazily(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__``.

    Args:
        package: Its ``__name__``.
        places: For each public name the module below the package that has it; ``module:name`` where it is called
            otherwise there; empty for a module of that name.

    Returns:
        What finds a name, and what lists the names.
    """

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place, _, other = places[name].partition(":")
        module = import_module(f"{package}.{place or name}")
        return attrgetter(other or name)(module) if place else module

    return find, lambda: sorted(places)
