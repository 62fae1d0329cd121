"""What an index says of itself: the versions that its rows depend on, in ``index.json``."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from weft.errors import StoreError

INDEX_SCHEMA = 1
FILE_NAME = "index.json"


@dataclass(frozen=True)
class Description:
    """The facts of an index that never change after it was made.

    Args:
        schema: Of the index.
        model: Name or directory of the model that its rows were made with.
        model_version: That model's version.
        dimension: Width of an embedding.
        disassembler: Which found the functions.
    """

    schema: int
    model: str
    model_version: str
    dimension: int
    disassembler: str


def write_description(folder: Path, description: Description) -> None:
    """Write it, whole or not at all.

    Raises:
        StoreError: The place cannot be written.
    """
    place = folder / FILE_NAME
    partial = place.with_name(f".{FILE_NAME}.part")
    try:
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(asdict(description), file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, place)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"cannot be written: {error.strerror or error}", where=str(place)) from error


def read_description(folder: Path) -> Description:
    """Read it and check that this version understands it.

    Raises:
        StoreError: There is no index, it is damaged, or it is of another schema.
    """
    place = folder / FILE_NAME
    try:
        record = json.loads(place.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = f"`weft bcsd index add FILE… --index {folder}` makes one"
        what = "not an index" if folder.exists() else "no such index"
        raise StoreError(what, where=str(folder), hint=hint) from error
    except (OSError, ValueError) as error:
        raise StoreError("cannot be read", where=str(place), hint="make the index anew") from error
    if isinstance(record, dict) and record.get("schema", INDEX_SCHEMA) != INDEX_SCHEMA:
        what = f"index schema {record['schema']}; this version reads {INDEX_SCHEMA}"
        raise StoreError(what, where=str(folder), hint="make the index anew")
    types = {field.name: type(getattr(_SAMPLE, field.name)) for field in fields(Description)}
    if not isinstance(record, dict) or {k: type(v) for k, v in record.items()} != types:
        raise StoreError("not the description of an index", where=str(place), hint="make the index anew")
    return Description(**record)


_SAMPLE = Description(INDEX_SCHEMA, "", "", 0, "")
