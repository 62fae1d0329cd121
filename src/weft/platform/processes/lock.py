"""One writer at a time: a lock of the operating system, which ends with the process that holds it."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weft.errors import OutputError, StoreError, WeftError
from weft.platform.files import writing_to


@contextmanager
def locked(path: Path, busy: str, hint: str, error: type[WeftError] = StoreError) -> Iterator[None]:
    """Hold a lock file, which stays behind: removing it would let two writers in.

    Args:
        path: The file; made where there is none.
        busy: What to say where another process holds it; ``{}`` becomes "process 123", or "another process".
        hint: The way out.
        error: What is raised.

    Raises:
        WeftError: ``error``: another process holds the lock.
        OutputError: The file cannot be made, or a link stands there: the process's number would go where it leads.
    """
    with writing_to(path):
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as failed:
            if failed.errno != errno.ELOOP:
                raise
            what = "is a link, and what it leads to would be written over"
            raise OutputError(what, where=str(path), hint="remove the link") from failed
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
            who = f"process {holder}" if holder else "another process"
            raise error(busy.format(who), where=str(path.parent), hint=hint) from None
        _note_holder(handle)
        yield
    finally:
        os.close(handle)


def _note_holder(handle: int) -> None:
    """Write this process's number for the message above; a full disk is no reason not to lock."""
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        return
