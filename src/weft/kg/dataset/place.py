"""The folder of a data set: what a build writes over there, or takes out, is an earlier data set's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from weft.errors import OutputError
from weft.kg.dataset.tables import SCHEMAS, TEXT_SCHEMAS

_BESIDE = ("tokenizer.json", "schema.json", "entities.json", "build.json")


def check_place(output: Path) -> None:
    """Refuse a folder in which a build would write over, or take out, what is of no data set.

    Raises:
        OutputError: A file of such a name stands there.
    """
    # Tables come first: beside none of them, no other file is a data set's.
    whole = (output / "chunks.parquet").exists()
    names = [f"{name}.parquet" for name in TEXT_SCHEMAS if _is_foreign(output, name)]
    names += [name for name in _BESIDE if not whole and (output / name).exists()]
    if names:
        what = f"holds {', '.join(names)} of no data set, which would be written over"
        raise OutputError(what, where=str(output), hint="name a folder that does not exist yet")


def _is_foreign(folder: Path, name: str) -> bool:
    path = folder / f"{name}.parquet"
    if not path.is_file():
        return False
    try:
        found = pq.read_schema(path).names
    except (OSError, pa.ArrowException):
        return False  # of a damaged one nobody can say whose it is
    return found not in [schemas[name].names for schemas in (TEXT_SCHEMAS, SCHEMAS) if name in schemas]
