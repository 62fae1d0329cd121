"""Jobs and uploads in SQLite: what is written here was accepted, whatever happens to the process."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import StoreError
from weft.platform.files import make_folder, writing_to

QUEUED, RUNNING, DONE, FAILED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
STATES = (QUEUED, RUNNING, DONE, FAILED, CANCELLED)
ENDED = (DONE, FAILED, CANCELLED)
ATTEMPTS = 25
"""A job that was under way so often when the service died is what kills it; until then it goes after the others."""
_BASE = "jobs.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
  id TEXT PRIMARY KEY, owner TEXT NOT NULL, kind TEXT NOT NULL, request TEXT NOT NULL, uploads TEXT NOT NULL,
  state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, created REAL NOT NULL, started REAL, finished REAL,
  problem TEXT, result BLOB
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, created);
CREATE TABLE IF NOT EXISTS uploads (
  id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL,
  created REAL NOT NULL
);
"""
_JOB = "id, owner, kind, request, uploads, state, attempts, created, started, finished, problem"


@dataclass(frozen=True)
class Job:
    """One job, without its result.

    Args:
        id: Of chance; who knows it not cannot guess it.
        owner: The name of the token that it came with.
        kind: What is to be done.
        request: With what.
        uploads: The files that it needs.
        state: One of :data:`STATES`.
        attempts: How often it was begun.
        created: When it was accepted, in seconds since 1970, as the others.
        started: When it was begun last.
        finished: When it ended.
        problem: Why it failed.
    """

    id: str
    owner: str
    kind: str
    request: dict[str, Any]
    uploads: tuple[str, ...]
    state: str
    attempts: int
    created: float
    started: float | None
    finished: float | None
    problem: dict[str, Any] | None


@dataclass(frozen=True)
class Upload:
    """A file that somebody sent.

    Args:
        id: Of chance.
        owner: The name of the token that it came with.
        name: What its sender calls it; no path of ours has it.
        size: In bytes.
        sha256: Of its content.
        created: When it came.
    """

    id: str
    owner: str
    name: str
    size: int
    sha256: str
    created: float


class Ledger:
    """The database.

    Args:
        folder: Made where it is not there.

    Raises:
        OutputError: The folder cannot be made.
        StoreError: The database is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._place = _private(folder) / _BASE
        self._lock = threading.Lock()
        try:
            self._base = sqlite3.connect(self._place, check_same_thread=False, isolation_level=None)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            self._base.executescript(_TABLES)
        except sqlite3.DatabaseError as error:
            raise self._broken(error) from error

    def close(self) -> None:
        """Close it."""
        with self._lock:
            self._base.close()

    def add(
        self, owner: str, kind: str, request: dict[str, Any], uploads: Sequence[str], most: int
    ) -> Job | None:
        """Accept a job; None where its owner has ``most`` that have not ended."""
        job = Job(
            secrets.token_hex(12),
            owner,
            kind,
            request,
            tuple(uploads),
            QUEUED,
            0,
            time.time(),
            None,
            None,
            None,
        )
        with self._change() as base:
            (waiting,) = base.execute(
                "SELECT count(*) FROM jobs WHERE owner = ? AND state IN (?, ?)", (owner, QUEUED, RUNNING)
            ).fetchone()
            if waiting >= most:
                return None
            base.execute(
                "INSERT INTO jobs (id, owner, kind, request, uploads, state, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (job.id, owner, kind, json.dumps(request), json.dumps(list(uploads)), QUEUED, job.created),
            )
        return job

    def claim(self, kinds: Sequence[str] | None = None, but: Sequence[str] = ()) -> Job | None:
        """Take the job that waits longest, of those under way least often when the service died.

        Args:
            kinds: Only of these; of any where None.
            but: Not of these.
        """
        with self._change() as base:
            row = base.execute(
                f"SELECT {_JOB} FROM jobs WHERE state = ? {_of_kind('IN', kinds)} {_of_kind('NOT IN', but or None)} "
                "ORDER BY attempts, created, id LIMIT 1",
                (QUEUED, *(kinds or ()), *but),
            ).fetchone()
            if row is None:
                return None
            base.execute(
                "UPDATE jobs SET state = ?, started = ?, attempts = attempts + 1 WHERE id = ?",
                (RUNNING, time.time(), row[0]),
            )
        return _job(row)

    def finish(self, name: str, result: bytes) -> bool:
        """Keep a result; False where the job is not under way any more."""
        return self._end(name, RUNNING, DONE, result, None)

    def fail(self, name: str, problem: dict[str, Any]) -> bool:
        """Keep why a job failed."""
        return self._end(name, RUNNING, FAILED, None, problem)

    def cancel(self, name: str) -> bool:
        """End a job without a result; False where it has ended."""
        return self._end(name, QUEUED, CANCELLED, None, None) or self._end(
            name, RUNNING, CANCELLED, None, None
        )

    def _end(
        self, name: str, before: str, after: str, result: bytes | None, problem: dict[str, Any] | None
    ) -> bool:
        with self._change() as base:
            done = base.execute(
                "UPDATE jobs SET state = ?, finished = ?, result = ?, problem = ? WHERE id = ? AND state = ?",
                (after, time.time(), result, None if problem is None else json.dumps(problem), name, before),
            )
            return done.rowcount == 1

    def resume(self, problem: dict[str, Any]) -> int:
        """After a start: what was under way waits again, but what was so too often has failed; how many wait."""
        with self._change() as base:
            base.execute(
                "UPDATE jobs SET state = ?, finished = ?, problem = ? WHERE state = ? AND attempts >= ?",
                (FAILED, time.time(), json.dumps(problem), RUNNING, ATTEMPTS),
            )
            base.execute("UPDATE jobs SET state = ?, started = NULL WHERE state = ?", (QUEUED, RUNNING))
            return int(base.execute("SELECT count(*) FROM jobs WHERE state = ?", (QUEUED,)).fetchone()[0])

    def job(self, name: str, owner: str) -> Job | None:
        """A job of its owner; None for anybody else's."""
        with self._read() as base:
            row = base.execute(
                f"SELECT {_JOB} FROM jobs WHERE id = ? AND owner = ?",
                (name, owner),
            ).fetchone()
        return None if row is None else _job(row)

    def jobs(self, owner: str, limit: int) -> list[Job]:
        """The newest jobs of an owner."""
        with self._read() as base:
            rows = base.execute(
                f"SELECT {_JOB} FROM jobs WHERE owner = ? ORDER BY created DESC, id LIMIT ?",
                (owner, limit),
            ).fetchall()
        return [_job(row) for row in rows]

    def result(self, name: str) -> bytes | None:
        """What a job gave."""
        with self._read() as base:
            row = base.execute("SELECT result FROM jobs WHERE id = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def counts(self) -> dict[str, int]:
        """Jobs by state."""
        with self._read() as base:
            found = dict(base.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())
        return {state: int(found.get(state, 0)) for state in STATES}

    def remove_job(self, name: str) -> None:
        """Forget a job that has ended."""
        with self._change() as base:
            base.execute(f"DELETE FROM jobs WHERE id = ? AND state IN {ENDED}", (name,))

    def add_upload(self, upload: Upload) -> None:
        """Keep what a file is called."""
        values = (upload.id, upload.owner, upload.name, upload.size, upload.sha256, upload.created)
        with self._change() as base:
            base.execute("INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?)", values)

    def upload(self, name: str, owner: str) -> Upload | None:
        """A file of its owner; None for anybody else's."""
        with self._read() as base:
            row = base.execute("SELECT * FROM uploads WHERE id = ? AND owner = ?", (name, owner)).fetchone()
        return None if row is None else Upload(*row)

    def uploads(self, owner: str) -> list[Upload]:
        """The files of an owner, the newest first."""
        with self._read() as base:
            rows = base.execute(
                "SELECT * FROM uploads WHERE owner = ? ORDER BY created DESC", (owner,)
            ).fetchall()
        return [Upload(*row) for row in rows]

    def held(self, owner: str) -> int:
        """Bytes of the files of an owner."""
        with self._read() as base:
            total = base.execute("SELECT sum(size) FROM uploads WHERE owner = ?", (owner,)).fetchone()[0]
        return int(total or 0)

    def in_use(self, name: str) -> bool:
        """Whether a job that has not ended needs a file."""
        with self._read() as base:
            rows = base.execute(
                "SELECT uploads FROM jobs WHERE state IN (?, ?)", (QUEUED, RUNNING)
            ).fetchall()
        return any(name in json.loads(row[0]) for row in rows)

    def remove_upload(self, name: str) -> None:
        """Forget a file."""
        with self._change() as base:
            base.execute("DELETE FROM uploads WHERE id = ?", (name,))

    def expired(self, before: float) -> tuple[list[str], list[str]]:
        """Jobs that ended, and files that came, before a time; not files that a job needs."""
        with self._read() as base:
            jobs = base.execute("SELECT id FROM jobs WHERE finished < ?", (before,)).fetchall()
            files = base.execute("SELECT id FROM uploads WHERE created < ?", (before,)).fetchall()
        return [row[0] for row in jobs], [row[0] for row in files if not self.in_use(row[0])]

    def upload_ids(self) -> set[str]:
        """All files that are known."""
        with self._read() as base:
            return {row[0] for row in base.execute("SELECT id FROM uploads").fetchall()}

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._base
            except sqlite3.DatabaseError as error:
                raise self._broken(error) from error

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._read() as base:
            base.execute("BEGIN IMMEDIATE")
            try:
                yield base
                base.execute("COMMIT")
            except BaseException:
                if base.in_transaction:  # a full disk may have ended it
                    base.execute("ROLLBACK")
                raise

    def _broken(self, error: sqlite3.Error) -> StoreError:
        return StoreError(f"the list of jobs cannot be used: {error}", where=str(self._place))


def _private(folder: Path) -> Path:
    """The folder, and in it the database, for its owner alone; of a folder that was there, only the files are.

    SQLite gives the files that it makes beside the database the mode of the database.
    """
    is_new = not folder.exists()
    make_folder(folder)
    with writing_to(folder):
        if is_new:
            folder.chmod(0o700)
        os.close(os.open(folder / _BASE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        for name in (_BASE, f"{_BASE}-wal", f"{_BASE}-shm"):
            if (folder / name).exists():
                (folder / name).chmod(0o600)
    return folder


def passes(error: StoreError) -> bool:
    """Whether an error of the ledger may be gone a moment later: the disk is full, or the file is locked."""
    return isinstance(error.__cause__, sqlite3.OperationalError)


def _of_kind(relation: str, kinds: Sequence[str] | None) -> str:
    return "" if kinds is None else f"AND kind {relation} ({', '.join('?' * len(kinds))})"


def _job(row: Sequence[Any]) -> Job:
    name, owner, kind, request, uploads, state, attempts, created, started, finished, problem = row
    told = None if problem is None else json.loads(problem)
    files = tuple(json.loads(uploads))
    return Job(
        name, owner, kind, json.loads(request), files, state, attempts, created, started, finished, told
    )
