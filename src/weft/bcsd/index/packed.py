"""The lists that rows are compared by, packed into one column: reading many rows costs as much for each column.

    row = counts (6 × u32, little-endian; all ones for null) ‖ the numbers of each list (16 bits each)

The lists stand in the table as columns of their own too, for whoever reads all rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.bcsd.represent.operations import COLUMN as OPERATIONS
from weft.bcsd.table import INLINED
from weft.bcsd.use.embedded import INLINED_VALUES

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The column.
PACKED = "packed"
#: What it holds, in this order: the columns and the type of their numbers.
LISTS = {
    "lexical_tokens": np.uint16,
    "lexical_values": np.float16,
    OPERATIONS: np.uint16,
    **dict.fromkeys(INLINED, np.uint16),
    INLINED_VALUES: np.float16,
}
_NULL = 0xFFFFFFFF
#: Numbers of 16 bits before the lists.
_HEAD = 2 * len(LISTS)


def pack(rows: pa.Table) -> pa.Array:
    """The column :data:`PACKED` of a table that has those of :data:`LISTS`."""
    columns: list[Any] = [rows[name].combine_chunks() for name in LISTS]
    lengths = np.stack(
        [np.asarray(column.value_lengths().fill_null(0), np.int64) for column in columns], axis=1
    )
    known = np.stack([column.is_valid().to_numpy(zero_copy_only=False) for column in columns], axis=1)
    counts = np.ascontiguousarray(np.where(known, lengths, _NULL), "<u4")
    ends = np.concatenate([[0], np.cumsum(_HEAD + lengths.sum(axis=1))])
    numbers = np.empty(ends[-1], "<u2")
    numbers[ends[:-1, None] + np.arange(_HEAD)] = counts.view("<u2")
    starts = ends[:-1, None] + _HEAD + np.cumsum(lengths, axis=1) - lengths
    for place, column in enumerate(columns):
        values = np.asarray(column.flatten()).view(np.uint16)
        numbers[_ranges(starts[:, place], lengths[:, place])] = values
    buffers = [None, pa.py_buffer((2 * ends).astype(np.int64)), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.large_binary(), len(counts), buffers)


def unpack(column: pa.ChunkedArray) -> dict[str, pa.Array]:
    """The lists of a column :data:`PACKED`, by their names.

    Raises:
        ValueError: A row holds more or fewer numbers than it says.
    """
    held: Any = column.combine_chunks()
    if not len(held):
        return {name: pa.array([], pa.list_(pa.from_numpy_dtype(kind))) for name, kind in LISTS.items()}
    bounds = np.frombuffer(held.buffers()[1], np.int64)[held.offset : held.offset + len(held) + 1]
    numbers = np.frombuffer(held.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]].view("<u2")
    ends = (bounds - bounds[0]) // 2
    if np.any(np.diff(ends) < _HEAD):
        raise ValueError("a packed row has no head")
    counts = np.ascontiguousarray(numbers[ends[:-1, None] + np.arange(_HEAD)]).view("<u4")
    known = counts != _NULL
    lengths = np.where(known, counts, 0).astype(np.int64)
    if np.any(_HEAD + lengths.sum(axis=1) != np.diff(ends)):
        raise ValueError("a packed row has another length than it says")
    starts = ends[:-1, None] + _HEAD + np.cumsum(lengths, axis=1) - lengths
    result: dict[str, pa.Array] = {}
    for place, (name, kind) in enumerate(LISTS.items()):
        values = numbers[_ranges(starts[:, place], lengths[:, place])].view(kind)
        offsets = np.concatenate([[0], np.cumsum(lengths[:, place])]).astype(np.int32)
        missing = pa.array(~known[:, place])
        result[name] = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), mask=missing)
    return result


def to_read(wanted: Iterable[str], there: Iterable[str]) -> list[str]:
    """The columns to read for those that are wanted: the packed one, where it is there and all its lists are wanted."""
    wanted = [name for name in wanted if name != PACKED]
    if PACKED not in there or not set(LISTS) <= set(wanted):
        return wanted
    return [PACKED, *(name for name in wanted if name not in LISTS)]


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """``starts[0], starts[0] + 1, …``, so many of each, one after another."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
