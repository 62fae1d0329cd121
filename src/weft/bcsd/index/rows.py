"""What the table of an index holds beside embedded functions."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from weft.bcsd.index.packed import PACKED, pack
from weft.bcsd.use.embedded import embedded_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Columns that say of which library a function is, and of which package; null where nobody said.
ORIGIN = ("library", "version", "package")
#: The column that says, in a file's first row, where its debug file was looked for; null where nobody said.
DEBUG_FILES = "debug_files"


class Near(NamedTuple):
    """Rows for an exact search.

    Args:
        ids: Row ids.
        embeddings: ``(rows, dimension)``.
        blocks: Numbers of blocks.
        sketches: ``(rows, DIMENSION)``; None in an index made before there were any.
    """

    ids: NDArray[np.uint64]
    embeddings: NDArray[np.float32]
    blocks: NDArray[np.int32]
    sketches: NDArray[np.float32] | None


class IndexedFile(NamedTuple):
    """One file of an index."""

    binary: str
    sha256: str
    architecture: str
    functions: int


def row_schema(dimension: int, model: str) -> pa.Schema:
    """The columns of the table, for embeddings of this width and model."""
    fields = embedded_schema(dimension, model)
    added = [
        pa.field("ordinal", pa.int32()),
        pa.field("draw", pa.uint32()),
        pa.field(PACKED, pa.large_binary()),
    ]
    return pa.schema([*fields, *added, *(pa.field(name, pa.string()) for name in (*ORIGIN, DEBUG_FILES))])


def to_store(rows: pa.Table) -> pa.Table:
    """The rows with what the table adds: number within the file, place in the sample's order, packed lists."""
    binaries = rows["binary"].to_pylist()
    ordinals = np.zeros(len(binaries), np.int32)
    for index in range(1, len(binaries)):
        ordinals[index] = ordinals[index - 1] + 1 if binaries[index] == binaries[index - 1] else 0
    draws = [
        int.from_bytes(hashlib.sha256(digest.encode()).digest()[:4], "little")
        for digest in rows["token_digest"].to_pylist()
    ]
    stored = rows.append_column("ordinal", pa.array(ordinals))
    stored = stored.append_column("draw", pa.array(draws, pa.uint32())).append_column(PACKED, pack(rows))
    for name in (*ORIGIN, DEBUG_FILES):
        if name not in stored.column_names:
            stored = stored.append_column(name, pa.nulls(stored.num_rows, pa.string()))
    return stored.replace_schema_metadata(None)
