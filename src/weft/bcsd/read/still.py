"""A file that somebody writes while it is read: what came of it would be of no file that ever was."""

from __future__ import annotations

import os

from weft.bcsd.read.members import split_member
from weft.errors import InputError


class Still:
    """What a file is known by, apart from its content, from now on.

    Args:
        path: The file, or a member of it.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._stamp = self._now()

    def check(self) -> None:
        """Make sure that it is the file that it was.

        Raises:
            InputError: Its place on the disk, its size or its time of change is another.
        """
        if self._now() != self._stamp:
            raise InputError(
                "it changed while it was read", where=self._path, hint="wait until it is written"
            )

    def _now(self) -> tuple[int, ...]:
        try:
            found = os.stat(split_member(self._path)[0])
        except OSError:
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
