"""One writer of an index at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from weft.platform.processes.lock import locked

FILE_NAME = "writer.lock"


def writer_lock(folder: Path) -> AbstractContextManager[None]:
    """Hold the index for writing.

    Raises:
        StoreError: Another process writes, or the lock cannot be made.
    """
    hint = "one writer at a time: wait until it is done"
    return locked(folder / FILE_NAME, "{} is writing to it", hint)
