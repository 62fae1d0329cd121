"""The oldest Python that a tree says it runs on: an annotation that is evaluated must be one there, too."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.errors import InputError
from weft.platform.reading import SETTINGS_BYTES, read_text

Version = tuple[int, int]
UNIONS: Version = (3, 10)
"""The first that evaluates ``int | None``."""
SUBSCRIPTS: Version = (3, 9)
"""The first that evaluates ``list[int]``."""
_LEAST = re.compile(r"(?:>=|~=|===?|\^|>|~)\s*v?(\d+)(?:\.(\d+))?")
_SAID = re.compile(r"""\bpython_requires\s*=\s*["']([^"']*)["']""")


def oldest_python(place: Path) -> Version | None:
    """What ``pyproject.toml``, ``setup.cfg`` or ``setup.py`` requires, of the nearest folder that has one.

    Args:
        place: A file or a folder of the tree.

    Returns:
        The least version that is named; None where none is.
    """
    whole = place.resolve()
    for folder in (whole, *whole.parents):
        names = [name for name in _READERS if (folder / name).is_file()]
        for name in names:
            try:
                said = _READERS[name](read_text(folder / name, SETTINGS_BYTES))
            except (InputError, ValueError, configparser.Error, RecursionError):
                continue
            versions = [(int(major), int(minor or 0)) for major, minor in _LEAST.findall(said)]
            if versions:
                return min(versions)
        if names:
            return None
    return None


def newer_than(text: str, oldest: Version | None) -> bool:
    """Whether an annotation cannot be evaluated by a version."""
    if oldest is None:
        return False
    return (oldest < UNIONS and "|" in text) or (oldest < SUBSCRIPTS and "[" in text)


def _of_pyproject(text: str) -> str:
    values = tomllib.loads(text)
    said = _at(values, "project", "requires-python") or _at(
        values, "tool", "poetry", "dependencies", "python"
    )
    return said if isinstance(said, str) else ""


def _at(values: Any, *names: str) -> Any:
    for name in names:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def _of_setup_cfg(text: str) -> str:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text)
    return parser.get("options", "python_requires", fallback="")


def _of_setup(text: str) -> str:
    found = _SAID.search(text)
    return found[1] if found else ""


_READERS: dict[str, Callable[[str], str]] = {
    "pyproject.toml": _of_pyproject,
    "setup.cfg": _of_setup_cfg,
    "setup.py": _of_setup,
}
