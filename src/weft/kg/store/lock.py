"""One writer at a time: a lock of the operating system, which ends with the process that holds it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.errors import StoreError

FILE = "lock"


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Hold the store's writer lock.

    Raises:
        StoreError: Another process holds it, or the folder cannot be written.
    """
    path = folder / FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror}", where=str(folder)) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "?"
            raise StoreError(
                f"another process (id {holder}) is writing to this store",
                where=str(folder),
                hint="wait for it to end; reading is possible meanwhile",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        # Closing gives the lock back; the file stays, for removing it would let two writers in.
        os.close(descriptor)
