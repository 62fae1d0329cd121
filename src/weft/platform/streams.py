"""Paths that stand for an open file, such as ``/dev/stdout``.

Such a file is added to where it is open: opening it by its path would write over what it holds already.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OPEN = re.compile(r"/dev/(?:stdout|stderr|fd/(\d+))|/proc/self/fd/(\d+)")


def open_file(path: str | Path) -> int | None:
    """The number of the open file that a path stands for; None where it stands for none, or for a device or a pipe."""
    found = _OPEN.fullmatch(os.path.abspath(path))
    if found is None:
        return None
    number = found[1] or found[2]
    handle = 2 if found[0] == "/dev/stderr" else int(number or 1)
    try:
        return handle if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except (OSError, OverflowError):
        return None  # it is not open


@contextmanager
def added_to(handle: int, name: str) -> Iterator[Path]:
    """Write to an open file, behind what it holds.

    Args:
        handle: Its number.
        name: Of the file that is written first.

    Yields:
        The path to write to. What the body leaves there is added when it ends without an error.
    """
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        written = Path(folder, name)
        yield written
        if written.exists():
            sys.stdout.flush()  # what was printed before stands before
            with written.open("rb") as source, open(os.dup(handle), "wb") as target:
                shutil.copyfileobj(source, target)
