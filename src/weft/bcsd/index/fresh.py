"""A new index into which nothing came is not left behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from weft.bcsd.index import lock
from weft.bcsd.index.description import FILE_NAME, strangers
from weft.bcsd.index.store import TABLE


@contextmanager
def taken_back(folder: Path, wanted: Callable[[], bool], *, there: bool) -> Iterator[None]:
    """Take away the index that the body made, where nothing was committed to it.

    An index that was there before stays as it is.

    Args:
        folder: The index, locked.
        wanted: Asked where the body ended without an error: True leaves an index without rows.
        there: Whether the folder was there before; then it stays.
    """
    if (folder / FILE_NAME).exists():
        yield
        return
    keep = False
    try:
        yield
        keep = wanted()
    finally:
        if not keep and _is_empty(folder):
            # The table first: what a kill leaves then is an index that the next run goes on with.
            shutil.rmtree(folder / f"{TABLE}.lance", ignore_errors=True)
            (folder / FILE_NAME).unlink(missing_ok=True)
            if not there:
                (folder / lock.FILE_NAME).unlink(missing_ok=True)
                with suppress(OSError):
                    folder.rmdir()


def _is_empty(folder: Path) -> bool:
    """Whether no row was ever written, and nobody laid anything beside the table."""
    beside = set(strangers(folder)) - {FILE_NAME, f"{TABLE}.lance"}
    return not beside and not any((folder / f"{TABLE}.lance").glob("data/*"))
