"""What an index says of itself: the versions that its rows depend on, in ``index.json``."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from weft.errors import InputError, StoreError
from weft.platform.files import write_json
from weft.platform.reading import SETTINGS_BYTES, read_json

INDEX_SCHEMA = 1
FILE_NAME = "index.json"
#: Beside it: the packages of libraries that are in an index, whole.
PACKAGES = "packages.json"


@dataclass(frozen=True)
class Description:
    """The facts of an index that never change after it was made.

    Args:
        schema: Of the index.
        model: Name or directory of the model that its rows were made with.
        model_version: That model's version.
        dimension: Width of an embedding.
        disassembler: Which found the functions.
        lifter: Which gave their operations; empty for none, as in indices made before there were any.
        inlined: Version of what functions' callees add; 0 for nothing, as in indices made before.
        calls: Version of what functions call; 0 where it does not say, as in indices made before.
        extractor: Version of the native disassembler; 0 for another one, and where it does not say, as in indices made
            before.
    """

    schema: int
    model: str
    model_version: str
    dimension: int
    disassembler: str
    lifter: str = ""
    inlined: int = 0
    calls: int = 0
    extractor: int = 0


def write_description(folder: Path, description: Description) -> None:
    """Write it, whole or not at all.

    Raises:
        OutputError: The place cannot be written.
    """
    write_json(folder / FILE_NAME, asdict(description))


def read_description(folder: Path) -> Description:
    """Read it and check that this version understands it.

    Raises:
        InputError: There is no such folder.
        StoreError: There is no index in it, it is damaged, or it is of another schema.
    """
    place = folder / FILE_NAME
    if not place.is_file():
        hint = f"`weft bcsd index add FILE… --index {folder}` makes one"
        if not folder.exists():
            raise InputError("no such index", where=str(folder), hint=hint)
        if not folder.is_dir() or strangers(folder):
            hint = "name the folder of an index"
        raise StoreError("not an index", where=str(folder), hint=hint)
    try:
        record = read_json(place, SETTINGS_BYTES)
    except InputError as error:
        raise StoreError(error.what, where=error.where, hint="make the index anew") from error
    if isinstance(record, dict) and record.get("schema", INDEX_SCHEMA) != INDEX_SCHEMA:
        what = f"index schema {record['schema']!r}; this version reads {INDEX_SCHEMA}"
        raise StoreError(what, where=str(folder), hint="make the index anew")
    types = {field.name: type(getattr(_SAMPLE, field.name)) for field in fields(Description)}
    found = {k: type(v) for k, v in record.items()} if isinstance(record, dict) else {}
    later = {"lifter": str, "inlined": int, "calls": int, "extractor": int}
    if {**later, **found} != types:
        raise StoreError("not the description of an index", where=str(place), hint="make the index anew")
    return Description(**record)


def strangers(folder: Path) -> list[str]:
    """What lies in a folder that a writer who was stopped before it made an index there would not have left."""
    return [name for name in os.listdir(folder) if name != "writer.lock" and not name.endswith(".part")]


_SAMPLE = Description(INDEX_SCHEMA, "", "", 0, "")
