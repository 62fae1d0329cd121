"""The parts of a data set, and which of them a document falls into."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from weft.errors import InputError
from weft.platform.reading import read_json

TRAIN, VALID, TEST = "train", "valid", "test"


def part_of(document: str, valid_percent: int, test_percent: int) -> str:
    """The part of the split that a document falls into, by its id alone."""
    number = int.from_bytes(hashlib.sha1(document.encode(errors="replace")).digest()[:4], "big") % 100
    if number < test_percent:
        return TEST
    return VALID if number < test_percent + valid_percent else TRAIN


def read_split(path: Path) -> Mapping[str, str]:
    """A split file: a JSON object of ``train``, ``valid`` and ``test``, a list of document ids each.

    Returns:
        Document id to part.

    Raises:
        InputError: The file is none, or names a document twice.
    """
    data = read_json(path)
    parts = (TRAIN, VALID, TEST)
    if not isinstance(data, dict) or not data.keys() <= set(parts):
        raise InputError(f"a split is a JSON object of {', '.join(parts)}", where=str(path))
    found: dict[str, str] = {}
    for part, names in data.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise InputError(f"{part!r} is no list of document ids", where=str(path))
        for name in names:
            if name in found:
                raise InputError(f"document {name!r} is named twice", where=str(path))
            found[name] = part
    return found
