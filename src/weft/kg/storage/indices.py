"""What the folder of an index holds: RDF made from a store's tables, which may be made again at any time."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = "index"
_STATE = re.compile(r"\.?(\d+)-rdf\d.*")


def generation_of(name: str) -> int | None:
    """The state of the store that a folder in it is of, or a part of one; None of what is called otherwise."""
    found = _STATE.fullmatch(name)
    return None if found is None else int(found[1])


def is_index(path: Path) -> bool:
    """Whether a path is the folder of an index, with nothing else in it."""
    return (
        path.name == FOLDER
        and path.is_dir()
        and not path.is_symlink()
        and all(generation_of(inner.name) is not None for inner in path.iterdir())
    )
