"""What was lifted before: the features of functions by their content, in one database below the user's cache folder.

A function is known by its bytes, its place, and all that lifting reads of its file, so that what is kept is what
lifting it again would give. It is a cache: whatever is wrong with it, the function is lifted instead, and nothing of it
is trusted but sorted numbers.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import numpy as np

#: Names the folder of the cache; empty for none.
VARIABLE = "WEFT_CACHE"
#: Bytes of the file, beyond which what was not asked for longest goes.
LARGEST = 512 << 20
#: What is left of it then.
_KEPT = 0.75
_NAME = "lifted.sqlite"
#: ``used`` is when a row was last asked for, to the day; the rows of one file have the same.
_TABLE = (
    "CREATE TABLE features (key BLOB PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID"
)
_SETTINGS = (
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
    "PRAGMA auto_vacuum=INCREMENTAL",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
)
_DAY = 86_400 * 10**9
_PATIENCE = 5.0


def cache_folder() -> Path | None:
    """Where the cache is: what ``WEFT_CACHE`` names, else ``weft`` in the user's cache folder; None for no cache."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "weft" if os.path.isabs(base) else None


class LiftCache:
    """The features of the functions of one file, as far as they are known.

    Args:
        folder: Of the cache, made where there is none.
        around: The file's facts, packed, and whatever else features depend on.

    Attributes:
        hits: Functions that were known.
        refused: Why the cache is not used, where it should be; empty where it is, or cannot be.
    """

    def __init__(self, folder: Path, around: bytes) -> None:
        self._around = blake2b(around, digest_size=32).digest()
        self._fresh: dict[bytes, bytes] = {}
        self._stale: list[bytes] = []
        self._now = time.time_ns()
        self.hits = 0
        self.refused = ""
        self._base: sqlite3.Connection | None = None
        try:
            self._base = self._open(folder)
        except OSError:
            pass  # A home that cannot be written has no cache.
        except (sqlite3.Error, ValueError) as error:
            self._refuse(str(error))

    def _open(self, folder: Path) -> sqlite3.Connection:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = folder / _NAME
        with suppress(FileExistsError):
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        for path, kind in ((folder, stat.S_ISDIR), (place, stat.S_ISREG)):
            found = os.lstat(path) if path is place else os.stat(path)
            if not kind(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                raise ValueError(f"{path} can be written by others")
        base = sqlite3.connect(place, timeout=_PATIENCE, isolation_level=None)
        try:
            for setting in _SETTINGS:
                base.execute(setting)
            if not base.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                with suppress(sqlite3.OperationalError):
                    base.execute(_TABLE)  # or another process has just made it
            if base.execute("SELECT sql FROM sqlite_schema").fetchall() != [(_TABLE,)]:
                raise ValueError("it holds something else")
        except BaseException:
            base.close()
            raise
        return base

    def get(self, function: bytes) -> bytes | None:
        """The features of a function, as they were put in; None where they are not known."""
        if self._base is None:
            return None
        key = self._key(function)
        try:
            row = self._base.execute("SELECT used, value FROM features WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._refuse(str(error))
            return None
        if row is None or not _sound(row[1]):
            return None
        if not isinstance(row[0], int) or row[0] < self._now - _DAY:
            self._stale.append(key)
        self.hits += 1
        return row[1]

    def put(self, function: bytes, features: bytes) -> None:
        """Keep the features of a function, when the cache is closed."""
        if self._base is not None:
            self._fresh[self._key(function)] = features

    def close(self) -> None:
        """Write what is new, all of it or nothing, and let go of the oldest where there is too much."""
        base, self._base = self._base, None
        if base is None:
            return
        try:
            if self._fresh or self._stale:
                base.execute("BEGIN IMMEDIATE")
                rows = [(key, self._now, value) for key, value in self._fresh.items()]
                base.executemany("INSERT OR REPLACE INTO features VALUES (?, ?, ?)", rows)
                stale = [(self._now, key) for key in self._stale]
                base.executemany("UPDATE features SET used = ? WHERE key = ?", stale)
                _let_go(base)
                base.execute("COMMIT")
                base.execute("PRAGMA incremental_vacuum").fetchall()
        except sqlite3.Error:
            pass  # A full disk, or another process that writes for long: these are lifted again.
        finally:
            base.close()

    def _key(self, function: bytes) -> bytes:
        return blake2b(function, digest_size=16, key=self._around).digest()

    def _refuse(self, why: str) -> None:
        if self._base is not None:
            self._base.close()
        self._base = None
        self.refused = f"the cache of what was lifted is not used: {why}"


def _sound(value: object) -> bool:
    """Whether a value is what lifting gives: sorted, distinct numbers of 16 bits."""
    if not isinstance(value, bytes) or len(value) % 2 or len(value) > 2 << 16:
        return False
    numbers = np.frombuffer(value, np.uint16)
    return bool(np.all(numbers[1:] > numbers[:-1]))


def _let_go(base: sqlite3.Connection) -> None:
    """Delete the rows that were not asked for longest, where the file is too large."""
    pages, free, size = (
        base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    surplus = (pages - free) * size - LARGEST
    if surplus <= 0:
        return
    surplus += int((1 - _KEPT) * LARGEST)
    last = None
    for used, held in base.execute(
        "SELECT used, sum(length(value) + 32) FROM features GROUP BY used ORDER BY used"
    ):
        last = used
        surplus -= held
        if surplus <= 0:
            break
    base.execute("DELETE FROM features WHERE used <= ?", (last,))
