"""The manifest: one small file that says which Parquet files make up the store; replaced whole, by a rename."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.errors import StoreError
from weft.kg.store.layout import DERIVED, SPELLINGS, TABLES, VERSION, Spelling

FILE = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """Which files count.

    Args:
        generation: Counts up with every commit; part of every file's name, so that names are never used twice.
        revision: The last revision given to a document.
        files: Table to its files, in the order of their commits.
        spelling: Whether names that differ in case and spaces alone are one entity (``"folded"``) or not.
        precision: The share of right facts that the kept ones are to have together; None keeps all.
    """

    generation: int = 0
    revision: int = 0
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    spelling: Spelling = "exact"
    precision: float | None = None

    @property
    def derived(self) -> bool:
        """Whether the derived tables are those of this generation."""
        return all(self.files.get(name) for name in DERIVED)

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "weft-kg-store": VERSION,
            "generation": self.generation,
            "revision": self.revision,
            "spelling": self.spelling,
            "precision": self.precision,
            "files": {name: list(names) for name, names in self.files.items()},
        }


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a store.

    Raises:
        StoreError: No store, one of another version, or a damaged manifest.
    """
    path = folder / FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        what = "no such store" if not folder.exists() else f"not a knowledge graph store (no {FILE})"
        raise StoreError(what, where=str(folder), hint="`weft kg extract` makes one") from None
    except NotADirectoryError:
        raise StoreError("not a knowledge graph store but a file", where=str(folder)) from None
    except (OSError, ValueError) as error:
        raise StoreError(f"a damaged manifest: {error}", where=str(path)) from error
    version = record.get("weft-kg-store") if isinstance(record, dict) else None
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
        StoreError: It cannot be written.
    """
    partial = folder / f"{FILE}.part"
    try:
        with partial.open("w", encoding="utf-8") as file:
            json.dump(manifest.record(), file, indent=1)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, folder / FILE)
        sync_folder(folder)
    except OSError as error:
        raise StoreError(f"cannot be written: {error.strerror or error}", where=str(folder / FILE)) from error


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
