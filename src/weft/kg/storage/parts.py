"""Parquet files of a store: written under another name, synced, renamed; every page carries a checksum."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from weft.errors import OutputError, StoreError
from weft.kg.storage.layout import TABLES
from weft.kg.storage.manifest import Manifest
from weft.platform.files import replaced

_ROWS_PER_GROUP = 65_536


def write_part(folder: Path, name: str, table: pa.Table) -> None:
    """Write one file; it appears under its name only when it is whole and on the disk.

    Raises:
        OutputError: The disk is full, the folder cannot be written, or a link stands there, which others made.
    """
    if (folder / name).is_symlink():
        what = "is a link, and what it leads to would be written over"
        raise OutputError(what, where=str(folder / name), hint="remove the link")
    with replaced(folder / name) as part:
        pq.write_table(
            table, part, row_group_size=_ROWS_PER_GROUP, compression="zstd", write_page_checksum=True
        )


def read_part(folder: Path, table: str, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Read one file.

    Raises:
        FileNotFoundError: It is gone: a writer replaced it since the manifest was read.
        StoreError: It is damaged, or has other columns.
    """
    path = folder / name
    schema = TABLES[table]
    _check_file(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            found = file.schema_arrow
            if found.names != schema.names or found.types != schema.types:
                raise StoreError(f"columns {found.names}, not {schema.names}", where=str(path))
            result = file.read(columns=None if columns is None else list(columns))
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        first = str(error).splitlines()[0]
        raise StoreError(f"a damaged Parquet file: {first}", where=str(path)) from error
    return result.replace_schema_metadata(None)


def read_parts(
    folder: Path, manifest: Manifest, table: str, columns: Sequence[str] | None = None
) -> pa.Table:
    """All files of a table, in the order of their commits.

    Raises:
        FileNotFoundError: As :func:`read_part`.
        StoreError: As :func:`read_part`.
    """
    parts = [read_part(folder, table, name, columns) for name in manifest.files.get(table, ())]
    if parts:
        return pa.concat_tables(parts)
    schema = TABLES[table]
    return (schema if columns is None else pa.schema([schema.field(name) for name in columns])).empty_table()


def rows_of(folder: Path, name: str) -> int:
    """Number of rows of one file, from its footer.

    Raises:
        StoreError: It is damaged or missing.
    """
    _check_file(folder / name)
    try:
        return pq.read_metadata(folder / name).num_rows
    except (OSError, pa.ArrowException) as error:
        raise StoreError("a damaged or missing Parquet file", where=str(folder / name)) from error


def _check_file(path: Path) -> None:
    """Refuse what is no file, such as a pipe, whose reader would wait for ever.

    Raises:
        StoreError: It is none.
    """
    if path.exists() and not path.is_file():
        raise StoreError("no file but a folder, a device or a pipe", where=str(path), hint="extract it again")
