"""Files into an index: those that it does not hold as they are, and those that have another debug file now."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa

from weft.bcsd.index.rows import DEBUG_FILES, IndexedFile
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.read.debug.look import Looked
from weft.bcsd.read.names import spelled
from weft.bcsd.use.embed_files import Embedding, EmbedReport, embed_each
from weft.bcsd.use.extract_files import hash_file
from weft.errors import InputError, StoreError, WeftError

Status = Literal["added", "updated", "unchanged", "removed", "failed"]
# A commit holds whole files: it is made when it has so many rows, or when so much time has gone by.
_ROWS_PER_COMMIT = 2000
_SECONDS_PER_COMMIT = 2.0
_GONE = "its debug file {} is not there any more: the index keeps the names from it"
_UNFIT = "the index keeps the names from its debug file {}, which is not there any more as it was"
_NEWER = "its debug file {} was of its earlier content, and none of this one is there"


class Change(NamedTuple):
    """What became of one file.

    Args:
        binary: The file.
        status: In a word.
        functions: How many of it the index holds; 0 where it failed.
        error: Why.
        remarks: What a reader should know.
        named: Whether it was read anew because it has another debug file, its content being the same.
    """

    binary: str
    status: Status
    functions: int
    error: WeftError | None = None
    remarks: tuple[str, ...] = ()
    named: bool = False


Progress = Callable[[Change], None]


def silent(change: Change) -> None:
    """Say nothing."""


@dataclass
class _Pending:
    """Files that are embedded and not yet committed."""

    rows: list[pa.Table]
    changes: list[Change]
    since: float

    @property
    def due(self) -> bool:
        large = sum(table.num_rows for table in self.rows) >= _ROWS_PER_COMMIT
        return large or time.monotonic() - self.since > _SECONDS_PER_COMMIT


@dataclass(frozen=True)
class _Held:
    """What an index holds: its files, and where the debug file of each was looked for, as far as it says."""

    files: Mapping[str, IndexedFile]
    looked: Mapping[str, Looked]

    @staticmethod
    def by(store: FunctionStore) -> _Held:
        try:
            looked = {name: Looked.from_text(text) for name, text in store.debug_files().items() if text}
        except ValueError as error:
            what = f"its table is damaged: {error}"
            raise StoreError(what, where=str(store.folder), hint="make the index anew") from error
        return _Held(store.files(), looked)

    def holds(self, path: str) -> bool:
        """Whether it holds a file with the content that it has."""
        name = spelled(path)
        try:
            same = name in self.files and self.files[name].sha256 == hash_file(path)
        except (OSError, InputError):
            return False  # its worker will say why it cannot be read
        return same

    def used(self, path: str) -> str:
        """The debug file that a file has its names from; empty for none."""
        looked = self.looked.get(spelled(path))
        return looked.used if looked is not None else ""

    def unchanged(self, path: str) -> Change | None:
        """What is to be said of a file whose content is the same; None where it has another debug file now."""
        looked = self.looked.get(spelled(path))
        remarks: tuple[str, ...] = ()
        if looked is not None:
            now = looked.stamp_now()
            if now and now != looked.stamp:
                return None
            if looked.used and not now:
                remarks = (_GONE.format(looked.used),)
        return Change(path, "unchanged", self.files[spelled(path)].functions, None, remarks)

    def change(self, report: EmbedReport, *, same: bool) -> Change:
        """What becomes of a file that was read.

        Args:
            report: Of the file.
            same: Whether its content is what it holds.
        """
        if report.error is not None:
            return Change(report.path, "failed", 0, report.error)
        remarks, used = report.remarks, self.used(report.path)
        lost = used and not (report.looked and Looked.from_text(report.looked).used)
        if lost and same:
            functions = self.files[spelled(report.path)].functions
            return Change(report.path, "unchanged", functions, None, (*remarks, _UNFIT.format(used)))
        if lost:
            remarks = (*remarks, _NEWER.format(used))
        status = "updated" if spelled(report.path) in self.files else "added"
        return Change(report.path, status, report.functions, None, remarks, same)


def embed_into(
    store: FunctionStore, files: Sequence[str], options: Embedding, progress: Progress
) -> list[Change]:
    """Embed the files that an index does not hold as they are, and commit them as they come.

    Names that came from a debug file stay where that is gone and the file itself is as it was.

    Args:
        store: Of the index, locked.
        files: By their absolute paths.
        options: How.
        progress: Called with each file, when it is committed.

    Raises:
        OutputError: The index cannot be written. A damaged one is a StoreError.
    """
    held = _Held.by(store)
    changes: list[Change] = []
    work: list[str] = []
    again: set[str] = set()
    for path in files:
        same = held.holds(path)
        unchanged = held.unchanged(path) if same else None
        if unchanged is not None:
            changes.append(unchanged)
            progress(unchanged)
            continue
        work.append(path)
        if same:
            again.add(path)
    pending = _Pending([], [], time.monotonic())

    def commit() -> None:
        if pending.rows:
            gone = [spelled(change.binary) for change in pending.changes if change.status == "updated"]
            store.replace(pa.concat_tables(pending.rows), gone)
        for change in pending.changes:
            progress(change)
        changes.extend(pending.changes)
        pending.rows, pending.changes, pending.since = [], [], time.monotonic()

    with tempfile.TemporaryDirectory(prefix="weft-index-") as scratch:
        for report, rows in embed_each(work, options, Path(scratch)):
            change = held.change(report, same=report.path in again)
            pending.changes.append(change)
            if rows is not None and change.status in ("added", "updated"):
                pending.rows.append(_noted(rows, report.looked))
            if pending.due:
                commit()
        commit()
    return changes


def _noted(rows: pa.Table, looked: str) -> pa.Table:
    """The rows of a file, the first of which says where its debug file was looked for."""
    noted = [looked, *[None] * (rows.num_rows - 1)][: rows.num_rows]
    return rows.append_column(DEBUG_FILES, pa.array(noted, pa.string()))
