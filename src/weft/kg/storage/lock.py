"""One writer of a store at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from weft.platform.processes.lock import locked

FILE = "lock"


def write_lock(folder: Path) -> AbstractContextManager[None]:
    """Hold the store's writer lock.

    Raises:
        StoreError: Another process holds it, or the folder cannot be written.
    """
    hint = "wait for it to end; reading is possible meanwhile"
    return locked(folder / FILE, "{} is writing to this store", hint)
