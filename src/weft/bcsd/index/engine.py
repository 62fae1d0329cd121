"""LanceDB without what it loads and a folder on this machine never needs.

``import lancedb`` makes 160 models of requests and answers of a catalogue over HTTP, which takes two thirds of its
time. While it is imported each is a :class:`_Later`, and becomes what it is when somebody uses it.

On Python 3.11 it has every method that overrides another compared with it by signature and byte code (the package
``overrides``), which takes a third of the rest. On 3.12 and above it does without, and so it does here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from threading import RLock
from types import ModuleType
from typing import Any

#: The generated client.
CLIENT = "lance_namespace_urllib3_client"
#: What compares methods.
COMPARING = "overrides"
_LOCK = RLock()


def lancedb() -> Any:
    """The module.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    with _LOCK:
        if "lancedb" in sys.modules or CLIENT in sys.modules:
            return import_module("lancedb")
        finder = _Finder()
        sys.meta_path.insert(0, finder)
        compared = sys.modules.get(COMPARING)
        sys.modules[COMPARING] = _Uncompared(COMPARING)
        try:
            return import_module("lancedb")
        finally:
            sys.meta_path.remove(finder)
            # Whoever imports the client or the package later gets it.
            for name in [name for name in sys.modules if name == CLIENT or name.startswith(f"{CLIENT}.")]:
                del sys.modules[name]
            del sys.modules[COMPARING]
            if compared is not None:
                sys.modules[COMPARING] = compared


class _Later(type):
    """A class of the client that is imported when it is called or asked for anything."""

    _place: str

    def real(cls) -> Any:
        """The class itself."""
        return getattr(import_module(cls._place), cls.__name__)

    def __call__(cls, *values: Any, **named: Any) -> Any:
        return cls.real()(*values, **named)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(cls.real(), name)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real())


class _Finder:
    """Finds the client's modules, each with whatever class is asked of it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != CLIENT and not fullname.startswith(f"{CLIENT}."):
            return None
        loader: Any = self
        return ModuleSpec(fullname, loader, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Client(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""


class _Client(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _Later(name, (), {"_place": self.__name__, "__module__": self.__name__})
        setattr(self, name, found)
        return found


class _Uncompared(ModuleType):
    """What LanceDB imports of the package: a base class that adds nothing, and a mark on methods."""

    class EnforceOverrides:
        """Of classes whose methods are marked."""

    @staticmethod
    def override(method: Any) -> Any:
        """The method as it is."""
        return method
