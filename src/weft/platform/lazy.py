"""What is imported when it is first asked for: names of a package (PEP 562), and modules that others import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from operator import attrgetter
from types import ModuleType
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


def later(*modules: str) -> None:
    """Let modules be loaded when something is first asked of them, though a library imports them as it is loaded.

    They are the modules that they are, and nobody who uses them sees a difference; those that are loaded stay.

    Args:
        modules: Their full names; nothing is imported by naming them.
    """
    if not any(isinstance(finder, _Later) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Later())
    _LATER.update(modules)


_LATER: set[str] = set()


class _Later:
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in _LATER else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec
