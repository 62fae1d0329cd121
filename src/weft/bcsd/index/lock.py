"""One writer at a time: a lock that the kernel drops when its process dies, however it dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.errors import StoreError

FILE_NAME = "writer.lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the index for writing.

    Raises:
        StoreError: Another process writes, or the lock cannot be made.
    """
    place = folder / FILE_NAME
    try:
        handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"cannot be locked: {error.strerror}", where=str(place)) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 20).decode("ascii", "replace").strip()
            who = f"process {holder}" if holder else "another process"
            raise StoreError(
                f"{who} is writing to it",
                where=str(folder),
                hint="one writer at a time: wait until it is done",
            ) from error
        _note_holder(handle)
        yield
    finally:
        os.close(handle)


def _note_holder(handle: int) -> None:
    """Write this process's number for the message above; a full disk is no reason not to lock."""
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
    except OSError:
        return
