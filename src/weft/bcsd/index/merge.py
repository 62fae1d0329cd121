"""Several indices become one: rows go from table to table, and no file is read again."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from weft.bcsd.index.description import FILE_NAME, PACKAGES, Description, read_description, write_description
from weft.bcsd.index.fresh import taken_back
from weft.bcsd.index.lock import writer_lock
from weft.bcsd.index.rows import DEBUG_FILES, ORIGIN, IndexedFile
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.index.update import Change, Progress, make_place, silent
from weft.bcsd.use.embedded import embedded_schema
from weft.errors import InputError, StoreError
from weft.platform.files import write_json
from weft.platform.reading import read_object

#: Rows that go over in one commit, unless one file has more.
_AT_ONCE = 20_000
#: What of a description may differ: a model is known by its version, whatever it is called.
_FREE = frozenset({"model"})


def merge(sources: Iterable[str | Path], folder: str | Path, progress: Progress = silent) -> list[Change]:
    """Put the files of other indices into one, which is made where there is none.

    Indices must be of one model, lifter and version. A file that the index holds with other content stays as it is
    there, and is reported as failed. What came over before a stop is there, and a further run goes on.

    Args:
        sources: The other indices, which stay as they are.
        folder: The index.
        progress: Called with each file, when it is committed.

    Returns:
        One change for each file of the others.

    Raises:
        InputError: An index that is not there, or that is to be merged with itself.
        StoreError: One cannot be used or does not fit, or another process writes to the index.
        OutputError: The disk is full, or the place may not be written to.
    """
    folder, places = Path(folder), [Path(source) for source in sources]
    described = [read_description(place) for place in places]
    for place, found in zip(places, described, strict=True):
        if folder.exists() and os.path.samefile(place, folder):
            raise InputError("an index cannot be merged with itself", where=str(place))
        _check(place, found, places[0], described[0])
    stores = [FunctionStore.open(place) for place in places]
    there = os.path.lexists(folder)
    make_place(folder)
    changes: list[Change] = []
    with writer_lock(folder), taken_back(folder, lambda: True, there=there):
        if not (folder / FILE_NAME).exists():
            write_description(folder, described[0])
        own = read_description(folder)
        _check(places[0], described[0], folder, own)
        store = FunctionStore.open_or_create(folder, own.dimension, own.model_version)
        if not store.names_libraries:
            raise StoreError(_OLDER, where=str(folder), hint="name a new folder")
        store.know_debug_files()
        for place, source in zip(places, stores, strict=True):
            changes += _bring(source, store, progress)
            _note_packages(place, folder)
        store.tidy()
    return changes


_OLDER = "made by an older version of weft, whose indices cannot be merged"


def _check(place: Path, found: Description, other: Path, wanted: Description) -> None:
    """That two indices compare functions by the same.

    Raises:
        StoreError: They do not.
    """
    said = asdict(found)
    for name, value in asdict(wanted).items():
        if name not in _FREE and said[name] != value:
            what = f"made with {name} {said[name]!r}, and {other} with {value!r}"
            raise StoreError(what, where=str(place), hint="make it anew as the other was made")


def _bring(source: FunctionStore, store: FunctionStore, progress: Progress) -> list[Change]:
    """The files of one index into another, some at a time."""
    known, theirs = store.files(), source.files()
    changes: list[Change] = []
    new: list[IndexedFile] = []
    for file in theirs.values():
        held = known.get(file.binary)
        if held is None:
            new.append(file)
            continue
        error = None
        if held.sha256 != file.sha256:
            hint = f"`weft bcsd index rm` takes it out of {store.folder}"
            what = f"not taken from {source.folder}: the index holds it with other content"
            error = StoreError(what, where=file.binary, hint=hint)
        changes.append(Change(file.binary, "failed" if error else "unchanged", held.functions, error))
        progress(changes[-1])
    for part in _parts(new):
        rows = source.rows_of(file.binary for file in part)
        wanted = [*embedded_schema(1, "").names, *ORIGIN]
        if not set(wanted) <= set(rows.column_names):
            raise StoreError(_OLDER, where=str(source.folder), hint="make it anew")
        store.replace(rows.select([*wanted, *({DEBUG_FILES} & {*rows.column_names})]))
        for file in part:
            changes.append(Change(file.binary, "added", file.functions))
            progress(changes[-1])
    return changes


def _parts(files: Iterable[IndexedFile]) -> Iterator[list[IndexedFile]]:
    part: list[IndexedFile] = []
    rows = 0
    for file in files:
        if part and rows + file.functions > _AT_ONCE:
            yield part
            part, rows = [], 0
        part.append(file)
        rows += file.functions
    if part:
        yield part


def _note_packages(place: Path, folder: Path) -> None:
    """The packages of libraries that are in an index now: what builds it further passes over them."""
    if not (place / PACKAGES).exists():
        return
    held = read_object(folder / PACKAGES).get("packages", {}) if (folder / PACKAGES).exists() else {}
    packages = {**read_object(place / PACKAGES).get("packages", {}), **held}
    write_json(folder / PACKAGES, {"schema": 1, "packages": packages})
