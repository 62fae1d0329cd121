"""What a training depends on beside its config, in a few bytes: so that a run is taken up with the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from weft.train.checkpoint import digest_of_json

_OTHERWISE = frozenset({"out", "train", "half", "int8", "tune", "decide"})
"""Fields of a setup that no step depends on: ``train`` is compared by itself, the last ones are about what is saved."""
PLACES = frozenset({"start", "begin", "teacher", "data", "train", "dev"})
"""Fields that name files and folders as words; what others say, a column or a kind, may be called as a folder is."""
_WHOLE = 1 << 24
"""Bytes of a file that is read whole; of a longer one its two ends."""


def identity_of(setup: Any) -> dict[str, str]:
    """A digest of each field of a tool's settings that a training depends on, by its name.

    A file or folder counts by what it holds, not by its name: it may be moved. Of a file of more than 16 MiB
    the size and the first and last 8 MiB are looked at.

    Args:
        setup: A dataclass with ``out``, which is left out wherever it lies.
    """
    return {
        each.name: digest_of_json(_described(getattr(setup, each.name), setup.out, each.name in PLACES))
        for each in fields(setup)
        if each.name not in _OTHERWISE
    }


def digests(values: Mapping[str, Any], out: Path) -> dict[str, str]:
    """A digest of each value, by its name: for a training that is described by other means than a dataclass.

    Args:
        values: Numbers, words, paths, dataclasses, and lists and mappings of these. A word may be a path, but of a
            dataclass only in one of :data:`PLACES`.
        out: A folder that is left out of what folders hold.
    """
    return {name: digest_of_json(_described(value, out)) for name, value in values.items()}


def differing(mine: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """The names of what is another; what only one of the two knows is passed over."""
    return [name for name in mine if name in theirs and mine[name] != theirs[name]]


def _described(value: Any, out: Path, place: bool = True) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: _described(getattr(value, each.name), out, each.name in PLACES)
            for each in fields(value)
        }
    if isinstance(value, Mapping):
        return {str(name): _described(part, out, place) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_described(part, out, place) for part in value]
    if place and isinstance(value, str) and _names_data(value):
        value = Path(value)
    if isinstance(value, Path):
        return _content(value, out) if value.exists() else str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _names_data(value: str) -> bool:
    """Whether a word is the path of a file or of a model."""
    try:
        return Path(value).is_file() or (Path(value) / "config.json").is_file()
    except (OSError, ValueError):  # too long for a path, or none at all
        return False


def _content(path: Path, out: Path) -> Any:
    return {name: _of_file(file) for name, file in _files(path, out)}


def _files(path: Path, out: Path) -> Iterator[tuple[str, Path]]:
    if path.is_file():
        yield "", path
        return
    for file in sorted(path.rglob("*")):
        if file.is_file() and not file.resolve().is_relative_to(out.resolve()):
            yield file.relative_to(path).as_posix(), file


def _of_file(path: Path) -> list[Any]:
    size = path.stat().st_size
    with path.open("rb") as file:
        content = hashlib.sha256(file.read(_WHOLE if size <= _WHOLE else _WHOLE // 2))
        if size > _WHOLE:
            file.seek(-_WHOLE // 2, 2)
            content.update(file.read())
    return [size, content.hexdigest()]
