"""Embedded functions as a table: what `embed` writes, what an index holds, what a query is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.represent import NORMALISER_VERSION, load_vocabulary
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.represent.operations import COLUMN as OPERATIONS
from weft.bcsd.table import FIELDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.bcsd.use.embedder import Embedder

EMBEDDED_SCHEMA = 1
#: Lexical features are stored as 16-bit numbers, however many of them a model has.
_LEXICAL_WIDTH = 1 << 16

#: What rows are compared by, beside what is shown of them.
VECTORS = ("embedding", "lexical_tokens", "lexical_values", OPERATIONS)
_LEFT_OUT = {"format", "blocks", "edges", "tokens", "jumps", "callees", "imports", OPERATIONS}
_FACTS = [field for field in FIELDS if field.name not in _LEFT_OUT]


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
    ]
    metadata = {
        "weft.embedded": str(EMBEDDED_SCHEMA),
        "weft.model": model,
        "weft.normaliser": str(NORMALISER_VERSION),
        "weft.vocabulary": load_vocabulary().digest,
        "weft.lifter": lifter,
    }
    return pa.schema([*_FACTS, *vectors], metadata=metadata)


def embed_table(functions: pa.Table, embedder: Embedder) -> pa.Table:
    """Embed extracted functions.

    Args:
        functions: Of the extraction's schema.
        embedder: The model.

    Returns:
        One row per function, in the same order, of :func:`embedded_schema`.

    Raises:
        InputError: A column is missing, or a function is empty.
    """
    lifter = (functions.schema.metadata or {}).get(b"weft.lifter", b"").decode()
    schema = embedded_schema(embedder.dimension, embedder.version, lifter)
    if not functions.num_rows:
        return schema.empty_table()
    arrays = FunctionArrays.from_table(functions)
    vectors = embedder.embed(arrays)
    lexical = embedder.lexical.vectors(arrays)
    lexical.eliminate_zeros()
    lexical.sort_indices()
    ends = pa.array(lexical.indptr.astype(np.int32))
    columns = [functions.column(field.name).combine_chunks().cast(field.type) for field in _FACTS]
    columns += [
        pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), embedder.dimension),
        pa.ListArray.from_arrays(ends, pa.array(lexical.indices.astype(np.uint16))),
        pa.ListArray.from_arrays(ends, pa.array(lexical.data.astype(np.float16))),
        functions.column(OPERATIONS).combine_chunks()
        if OPERATIONS in functions.column_names
        else pa.nulls(functions.num_rows, schema.field(OPERATIONS).type),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def embeddings_of(table: pa.Table) -> NDArray[np.float32]:
    """The column ``embedding`` as ``(rows, dimension)``."""
    column = table.column("embedding")
    width = column.type.list_size
    parts = [np.asarray(chunk.flatten()).reshape(-1, width) for chunk in column.chunks]
    if len(parts) == 1:
        return parts[0]  # a view: an index in memory is not copied
    return np.concatenate(parts) if parts else np.zeros((0, width), np.float32)


def lexical_of(table: pa.Table) -> sparse.csr_matrix:
    """The lexical columns as ``(rows, 2¹⁶)``, the values in float32."""
    tokens: Any = table.column("lexical_tokens").combine_chunks()
    values: Any = table.column("lexical_values").combine_chunks()
    lengths = np.asarray(tokens.value_lengths())
    ends = np.concatenate([[0], np.cumsum(lengths)])
    data = np.asarray(values.flatten()).astype(np.float32)
    indices = np.asarray(tokens.flatten()).astype(np.int32)
    return sparse.csr_matrix((data, indices, ends), shape=(len(lengths), _LEXICAL_WIDTH))
