"""What goes wrong in the storage engine, as one clear error."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from weft.errors import OutputError, StoreError, WeftError

#: What LanceDB raises. Its Rust side reports a full disk and a damaged file alike, told apart by their text.
ENGINE_ERRORS = (OSError, RuntimeError, ValueError, KeyError, pa.ArrowException)
_FULL = ("no space left", "disk quota exceeded", "storage full", "file too large")
_FULL_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Where in the engine's own source an error arose: no help to a user.
_ORIGIN = re.compile(r",? ?/\S+\.rs:\d+(:\d+)?.*$")
#: Panics of the Rust side, caught by PyO3 or by its futures; neither class can be imported.
_PANICS = ("PanicException", "RustPanic")
_DENIED = ("permission denied", "read-only file system")


@contextmanager
def as_store_error(folder: Path, doing: str) -> Iterator[None]:
    """Turn the engine's errors into one of ours.

    Args:
        folder: The index.
        doing: ``"read"`` or ``"written"``.

    Raises:
        OutputError: The disk is full, or the place may not be written to.
        StoreError: For every other error of the engine.
    """
    try:
        yield
    except WeftError:
        raise
    except ENGINE_ERRORS as error:
        raise explain(error, folder, doing) from error
    except BaseException as error:
        # A panic may be no Exception, so that nobody takes it for one by accident.
        if type(error).__name__ not in _PANICS:
            raise
        raise explain(error, folder, doing) from error


def explain(error: BaseException, folder: Path, doing: str) -> WeftError:
    """The engine's error in words that say what to do."""
    text = str(error).lower()
    if getattr(error, "errno", None) in _FULL_CODES or any(word in text for word in _FULL):
        return OutputError(
            "cannot be written: the disk is full",
            where=str(folder),
            hint="what was committed is kept; make room and run the same command again",
        )
    if getattr(error, "errno", None) in (errno.EACCES, errno.EROFS) or any(word in text for word in _DENIED):
        kind = OutputError if doing == "written" else StoreError
        return kind(f"cannot be {doing}: permission denied", where=str(folder))
    lines = str(error).strip().splitlines() or [type(error).__name__]
    reason = _ORIGIN.sub("", lines[0])
    return StoreError(
        f"cannot be {doing}, its table is damaged: {reason[:160]}",
        where=str(folder),
        hint="make the index anew",
    )
