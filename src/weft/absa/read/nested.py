"""Columns inside objects: ``review.text`` of a row ``{"review": {"text": "…"}}``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

_BETWEEN = "."
"""What stands between the names of a path."""
_DEEPEST = 8
"""So many names a path that is shown has at most; what lies deeper is shown as the object that holds it."""
_SHOWN = 100
"""So many paths are shown."""


def with_paths(cells: Mapping[str, Any], columns: Iterable[str]) -> Mapping[str, Any]:
    """The cells of a row, and by its path each of the columns that stands inside an object.

    A key of that very name goes before a path. An object's own keys may have dots as well.
    """
    found = {
        column: values[0]
        for column in columns
        if column not in cells and _BETWEEN in column and (values := list(islice(_at(cells, column), 1)))
    }
    return {**cells, **found} if found else cells


def _at(cells: Mapping[str, Any], path: str) -> Iterator[Any]:
    """What stands at a path, of several ways to read its dots that with the longest first name before others."""
    if path in cells:
        yield cells[path]
    for at in reversed([at for at, letter in enumerate(path) if letter == _BETWEEN]):
        below = cells.get(path[:at])
        if isinstance(below, dict):
            yield from _at(below, path[at + 1 :])


def paths(cells: Mapping[str, Any]) -> list[str]:
    """The names of a row's cells, of objects the paths of what they hold; the first hundred."""
    return list(islice(_paths(cells, 1), _SHOWN))


def text_paths(name: str, cells: Mapping[str, Any]) -> list[str]:
    """The paths of the texts inside an object of that name, the longest text first."""
    found = {path: value for path in paths(cells) for value in islice(_at(cells, path), 1)}
    texts = {path: value for path, value in found.items() if isinstance(value, str)}
    return [f"{name}{_BETWEEN}{path}" for path in sorted(texts, key=lambda path: -len(texts[path]))]


def _paths(cells: Mapping[str, Any], depth: int) -> Iterator[str]:
    for name, value in cells.items():
        if isinstance(value, dict) and value and depth < _DEEPEST:
            yield from (f"{name}{_BETWEEN}{path}" for path in _paths(value, depth + 1))
        else:
            yield name
