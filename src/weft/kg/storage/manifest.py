"""The manifest: one small file that says which Parquet files make up the store; replaced whole, by a rename."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.errors import InputError, OutputError, StoreError
from weft.kg.storage.layout import DERIVED, SPELLINGS, TABLES, VERSION, Spelling
from weft.platform.files import write_json
from weft.platform.reading import SETTINGS_BYTES, read_json

FILE = "manifest.json"
_MARK = "weft-kg-store"


@dataclass(frozen=True)
class Manifest:
    """Which files count.

    Args:
        generation: Counts up with every commit; part of every file's name, so that names are never used twice.
        revision: The last revision given to a document.
        files: Table to its files, in the order of their commits.
        spelling: Whether names that differ in case and spaces alone are one entity (``"folded"``) or not.
        precision: The share of right facts that the kept ones are to have together; None keeps all.
        places: Of each corpus a hash of where it lay when it was read last.
    """

    generation: int = 0
    revision: int = 0
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spelling: Spelling = "exact"
    precision: float | None = None
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def derived(self) -> bool:
        """Whether the derived tables are those of this generation."""
        return all(self.files.get(name) for name in DERIVED)

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            _MARK: VERSION,
            "generation": self.generation,
            "revision": self.revision,
            "spelling": self.spelling,
            "precision": self.precision,
            "files": {name: list(names) for name, names in self.files.items()},
            "places": dict(sorted(self.places.items())),
        }


def is_store(folder: Path) -> bool:
    """Whether a folder is a store, of whatever version."""
    path = folder / FILE
    if not os.path.isfile(path):  # not Path.is_file, which raises of a folder that may not be opened
        return False
    try:
        record = read_json(path, SETTINGS_BYTES)
    except InputError:
        return False  # another program's manifest
    return isinstance(record, dict) and _MARK in record


def check_outside(path: Path) -> None:
    """Refuse a place in a store for what is to be written: only a writer puts files there.

    Raises:
        OutputError: It lies in one.
    """
    inside = next((folder for folder in path.absolute().parents if is_store(folder)), None)
    if inside is not None or is_store(path):
        store = path if inside is None else inside
        raise OutputError(f"lies in the store {store}", where=str(path), hint="name a place outside it")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a store.

    Raises:
        InputError: No such folder.
        StoreError: No store, one of another version, or a manifest that cannot be read or is damaged.
    """
    path = folder / FILE
    hint = "`weft kg extract` makes one"
    if not folder.exists():
        raise InputError("no such store", where=str(folder), hint=hint)
    if not folder.is_dir():
        raise StoreError("not a knowledge graph store but a file", where=str(folder))
    if not path.exists():
        raise StoreError(f"not a knowledge graph store (no {FILE})", where=str(folder), hint=hint)
    try:
        record = read_json(path, SETTINGS_BYTES)
    except InputError as error:
        unread = isinstance(error.__cause__, OSError)  # it may be whole, and closed
        what = error.what if unread else f"a damaged manifest: {error.what}"
        raise StoreError(what, where=error.where) from error
    version = record.get(_MARK) if isinstance(record, dict) else None
    if version != VERSION:
        raise StoreError(
            f"a store of version {version!r}; this weft reads version {VERSION}",
            where=str(folder),
            hint="extract it again with this version",
        )
    try:
        files = {str(name): tuple(str(item) for item in items) for name, items in record["files"].items()}
        precision = record["precision"]
        manifest = Manifest(
            int(record["generation"]),
            int(record["revision"]),
            files,
            record["spelling"],
            None if precision is None else float(precision),
            {str(corpus): str(place) for corpus, place in record.get("places", {}).items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"a damaged manifest: {error!r}", where=str(path)) from error
    odd = [name for names in files.values() for name in names if Path(name).name != name]
    if manifest.spelling not in SPELLINGS or files.keys() - TABLES.keys() or odd:
        raise StoreError("a damaged manifest: unknown tables or settings", where=str(path))
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest: from this moment on the store is what it says.

    Raises:
        OutputError: It cannot be written.
    """
    write_json(folder / FILE, manifest.record())
