"""What a recipe made before, and under which settings: a folder is gone on with under the same ones alone.

A training gets :func:`identity` and refuses the checkpoint of another. A file of results, one JSON object a line, is
opened by :func:`kept_records`: each record holds the ``settings`` that it was measured under.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.train.identity import digests

_NEVER = ("out", "threads", "run")
"""Options that no result depends on: where it is written, by how many threads, which command was called."""


def settings_of(arguments: argparse.Namespace, without: Sequence[str] = ()) -> dict[str, Any]:
    """The options that results depend on, as JSON keeps them; ``without`` names further ones that they do not.

    A file, or a model's folder, stands there by a digest of what it holds, another folder by its place.
    """
    left = {name: value for name, value in vars(arguments).items() if name not in (*_NEVER, *without)}
    return json.loads(json.dumps({name: _kept(value) for name, value in left.items()}, default=str))


def _kept(value: Any) -> Any:
    if not isinstance(value, Path):
        return value
    if value.is_file() or (value / "config.json").is_file():
        return digests({"": value}, Path())[""]
    return str(value.resolve())


def identity(arguments: argparse.Namespace, without: Sequence[str] = ("data",)) -> dict[str, str]:
    """For :meth:`weft.train.course.Course.run`: a model or file that an option names counts by what it holds."""
    left = {name: value for name, value in vars(arguments).items() if name not in (*_NEVER, *without)}
    return digests({name: value for name, value in left.items() if not callable(value)}, arguments.out)


def kept_records(path: Path, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of a file of results, none where there is no such file.

    Raises:
        SystemExit: A record that was measured under other settings, or does not say under which; it is named.
    """
    if not path.exists():
        return []
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, record in enumerate(records, 1):
        theirs = record.get("settings")
        if theirs is None:
            raise SystemExit(
                f"{path} line {number}: it does not say under which settings it was measured; name another --out"
            )
        names = [name for name in {**settings, **theirs} if settings.get(name) != theirs.get(name)]
        if names:
            told = ", ".join(
                f"{name} {theirs.get(name)!r}, not {settings.get(name)!r}" for name in sorted(names)
            )
            raise SystemExit(f"{path} line {number}: measured with {told}; name another --out")
    return records
