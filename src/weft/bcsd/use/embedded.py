"""Embedded functions as a table: what `embed` writes, what an index holds, what a query is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.represent import NORMALISER_VERSION, load_vocabulary
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.calls import CALLS, CALLS_VERSION, IMPORTS
from weft.bcsd.represent.inlined import INLINED_VERSION
from weft.bcsd.represent.lexical import Lexical
from weft.bcsd.represent.operations import COLUMN as OPERATIONS
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.represent.rows import OPERATIONS as INLINED_OPERATIONS
from weft.bcsd.represent.rows import TOKENS as INLINED_TOKENS
from weft.bcsd.represent.rows import Rows, lists_of, scaled
from weft.bcsd.represent.sketch import COLUMN as SKETCH
from weft.bcsd.represent.sketch import DIMENSION, sketches
from weft.bcsd.table import CALLED, FIELDS, INLINED

if TYPE_CHECKING:
    from numpy.typing import NDArray

EMBEDDED_SCHEMA = 1
#: Lexical features are stored as 16-bit numbers, however many of them a model has.
_LEXICAL_WIDTH = 1 << 16

#: The weights of what callees add, in rows that are blended with them and of length 1.
INLINED_VALUES = "inlined_values"
#: What rows are compared by, beside what is shown of them.
VECTORS = (
    "embedding",
    "lexical_tokens",
    "lexical_values",
    OPERATIONS,
    *INLINED,
    INLINED_VALUES,
    SKETCH,
    *CALLED,
)
_LEFT_OUT = {
    "format",
    "blocks",
    "edges",
    "tokens",
    "jumps",
    "callees",
    "imports",
    OPERATIONS,
    *INLINED,
    *CALLED,
}
_FACTS = [field for field in FIELDS if field.name not in _LEFT_OUT]
#: What is shown of rows, or said of them.
SHOWN = tuple(field.name for field in _FACTS)


class Embeds(Protocol):
    """What gives functions their vectors."""

    lexical: Lexical
    version: str

    @property
    def dimension(self) -> int: ...  # noqa: D102

    def embed(self, functions: FunctionArrays) -> NDArray[np.float32]: ...  # noqa: D102


def embedded_schema(dimension: int, model: str, lifter: str = "") -> pa.Schema:
    """The schema of embedded functions, with the versions that the vectors depend on in the metadata.

    Args:
        dimension: Width of an embedding.
        model: Version of the model.
        lifter: Name of the lifter that gave the operations; empty for none.
    """
    vectors = [
        pa.field("embedding", pa.list_(pa.float32(), dimension)),
        pa.field("lexical_tokens", pa.list_(pa.uint16())),
        pa.field("lexical_values", pa.list_(pa.float16())),
        pa.field(OPERATIONS, pa.list_(pa.uint16())),
        pa.field(INLINED_OPERATIONS, pa.list_(pa.uint16())),
        pa.field(INLINED_TOKENS, pa.list_(pa.uint16())),
        pa.field(INLINED_VALUES, pa.list_(pa.float16())),
        pa.field(SKETCH, pa.list_(pa.float16(), DIMENSION)),
        pa.field(CALLS, pa.list_(pa.uint64())),
        pa.field(IMPORTS, pa.list_(pa.uint32())),
    ]
    metadata = {
        "weft.embedded": str(EMBEDDED_SCHEMA),
        "weft.model": model,
        "weft.normaliser": str(NORMALISER_VERSION),
        "weft.vocabulary": load_vocabulary().digest,
        "weft.lifter": lifter,
        "weft.inlined": str(INLINED_VERSION),
        "weft.calls": str(CALLS_VERSION),
    }
    return pa.schema([*_FACTS, *vectors], metadata=metadata)


def embed_table(
    functions: pa.Table, embedder: Embeds, *, callees: bool = True, calls: bool = True
) -> pa.Table:
    """Embed extracted functions.

    Args:
        functions: Of the extraction's schema.
        embedder: The model.
        callees: Whether what their callees would add is kept.
        calls: Whether what they call is kept.

    Returns:
        One row per function, in the same order, of :func:`embedded_schema`.

    Raises:
        InputError: A column is missing, or a function is empty.
    """
    lifter = (functions.schema.metadata or {}).get(b"weft.lifter", b"").decode()
    schema = embedded_schema(embedder.dimension, embedder.version, lifter)
    if not functions.num_rows:
        return schema.empty_table()
    unwanted = {*(() if callees else INLINED), *(() if calls else CALLED)}
    functions = functions.drop_columns([name for name in functions.column_names if name in unwanted])
    arrays = FunctionArrays.from_table(functions)
    vectors = embedder.embed(arrays)
    rows = embedder.lexical.rows(functions, arrays)
    lexical = rows.own
    lexical.eliminate_zeros()
    lexical.sort_indices()
    ends = pa.array(lexical.indptr.astype(np.int32))
    columns = [functions.column(field.name).combine_chunks().cast(field.type) for field in _FACTS]
    columns += [
        pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), embedder.dimension),
        pa.ListArray.from_arrays(ends, pa.array(lexical.indices.astype(np.uint16))),
        pa.ListArray.from_arrays(ends, pa.array(lexical.data.astype(np.float16))),
        _column(functions, schema.field(OPERATIONS)),
        _column(functions, schema.field(INLINED_OPERATIONS)),
        *_added(rows),
        pa.FixedSizeListArray.from_arrays(pa.array(_sketched(functions)), DIMENSION),
        *(_column(functions, schema.field(name)) for name in CALLED),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def sketches_of(table: pa.Table) -> NDArray[np.float32] | None:
    """The column ``sketch`` as ``(rows, DIMENSION)``; None in a table made before there was one."""
    if SKETCH not in table.column_names:
        return None
    parts = [np.asarray(chunk.flatten()).reshape(-1, DIMENSION) for chunk in table.column(SKETCH).chunks]
    joined = np.concatenate(parts) if parts else np.zeros((0, DIMENSION))
    return joined.astype(np.float32)


def _sketched(functions: pa.Table) -> NDArray[np.float16]:
    return sketches(operation_rows(functions).own).astype(np.float16).reshape(-1)


def _column(functions: pa.Table, field: pa.Field) -> pa.Array:
    """A column, nulls where the table has none."""
    if field.name not in functions.column_names:
        return pa.nulls(functions.num_rows, field.type)
    return functions.column(field.name).combine_chunks()


def embeddings_of(table: pa.Table) -> NDArray[np.float32]:
    """The column ``embedding`` as ``(rows, dimension)``."""
    column = table.column("embedding")
    width = column.type.list_size
    parts = [np.asarray(chunk.flatten()).reshape(-1, width) for chunk in column.chunks]
    if len(parts) == 1:
        return parts[0]  # a view: an index in memory is not copied
    return np.concatenate(parts) if parts else np.zeros((0, width), np.float32)


def lexical_of(table: pa.Table) -> Rows:
    """The lexical columns as ``(rows, 2¹⁶)``, the values in float32."""
    own, _ = _stored(table, "lexical_tokens", "lexical_values")
    if INLINED_VALUES not in table.column_names:
        return Rows.alone(own)
    added, known = _stored(table, INLINED_TOKENS, INLINED_VALUES)
    if not known.any():
        return Rows.alone(own)
    # Both rows are of length 1, and the blended one is the row itself, shortened, and what callees add.
    row = np.repeat(np.arange(len(known)), np.diff(added.indptr))
    left = 1 - np.bincount(row, weights=added.data.astype(np.float64) ** 2, minlength=len(known))
    blended: Any = scaled(own, np.sqrt(np.maximum(left, 0))) + added
    return Rows(own, blended.astype(np.float32), known)


def _stored(table: pa.Table, features: str, values: str) -> tuple[sparse.csr_matrix, NDArray[np.bool_]]:
    ends, indices, known = lists_of(table, features)
    column: Any = table.column(values).combine_chunks()
    data = np.asarray(column.flatten()).astype(np.float32)
    return sparse.csr_matrix((data, indices, ends), shape=(len(known), _LEXICAL_WIDTH)), known


def _added(rows: Rows) -> tuple[pa.Array, pa.Array]:
    """Of blended rows the features that callees add, and their weights; null where callees are not known."""
    if not rows.known.any():
        return pa.nulls(len(rows), pa.list_(pa.uint16())), pa.nulls(len(rows), pa.list_(pa.float16()))
    mask: Any = rows.own.copy()
    mask.data[:] = 1
    blended: Any = rows.blended
    more = (blended - blended.multiply(mask)).tocsr()
    more.eliminate_zeros()
    more.sort_indices()
    ends = pa.array(more.indptr.astype(np.int32), mask=None)
    unknown = pa.array(~rows.known)
    return tuple(
        pa.ListArray.from_arrays(ends, pa.array(values), mask=unknown)
        for values in (more.indices.astype(np.uint16), more.data.astype(np.float16))
    )
