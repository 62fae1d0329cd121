"""Whether two paths are one file."""

from __future__ import annotations

import os
from pathlib import Path


def is_same(one: str | Path, other: str | Path) -> bool:
    """Whether two paths are one file: by a link as well, or by letter case where the file system knows none."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False  # one of them is not there
