"""A table of functions as flat arrays: what collating a batch and counting tokens read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.bcsd.represent.normalise import SLOTS
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.bcsd.represent.graphs import OperationGraphs

COLUMNS = ("tokens", "blocks", "edges")
"""The columns of the extraction's schema that are read here."""


@dataclass(frozen=True, eq=False)
class FunctionArrays:
    """Functions, flattened: those of function i lie between ``first[i]`` and ``first[i + 1]``.

    Args:
        tokens: ``(instructions, 5)`` uint16, of all functions.
        first_instruction: ``(functions + 1,)``.
        block_start: ``(blocks,)``, the first instruction of each block, counted within its function; the
            blocks of a function follow one another without gaps.
        first_block: ``(functions + 1,)``.
        edges: ``(edges, 3)`` int32, source block, target block, kind, counted within the function.
        first_edge: ``(functions + 1,)``.
        graphs: Of their operations; None where nothing reads them.
    """

    tokens: NDArray[np.uint16]
    first_instruction: NDArray[np.int64]
    block_start: NDArray[np.int32]
    first_block: NDArray[np.int64]
    edges: NDArray[np.int32]
    first_edge: NDArray[np.int64]
    graphs: OperationGraphs | None = None

    def __len__(self) -> int:
        return len(self.first_instruction) - 1

    @property
    def num_instructions(self) -> NDArray[np.int64]:
        """Instructions of each function."""
        return np.diff(self.first_instruction)

    @property
    def num_blocks(self) -> NDArray[np.int64]:
        """Blocks of each function."""
        return np.diff(self.first_block)

    @classmethod
    def from_table(cls, functions: pa.Table, graphs: OperationGraphs | None = None) -> FunctionArrays:
        """Flatten the columns ``tokens``, ``blocks`` and ``edges`` of an extracted table.

        Args:
            functions: The table.
            graphs: Of its functions' operations, in its order.

        Raises:
            InputError: A column is missing, a function has no instructions or no blocks, or another number
                of graphs.
        """
        if graphs is not None and len(graphs) != functions.num_rows:
            raise InputError(f"{len(graphs)} graphs of operations for {functions.num_rows} functions")
        missing = [name for name in COLUMNS if name not in functions.column_names]
        if missing:
            raise InputError(f"the table of functions has no column {missing[0]!r}")
        tokens, first_instruction = _flat(functions, "tokens")
        blocks, first_block = _flat(functions, "blocks")
        edges, first_edge = _flat(functions, "edges")
        empty = np.flatnonzero((np.diff(first_instruction) == 0) | (np.diff(first_block) == 0))
        if len(empty):
            raise InputError(f"function {int(empty[0])} of the table has no instructions or no blocks")
        return cls(
            tokens=_numbers(tokens.flatten()).reshape(-1, len(SLOTS)),
            first_instruction=first_instruction,
            block_start=_numbers(blocks.field("start")),
            first_block=first_block,
            edges=np.stack(
                [_numbers(edges.field(name)).astype(np.int32) for name in ("source", "target", "kind")],
                axis=1,
            ),
            first_edge=first_edge,
            graphs=graphs,
        )


def spans(first: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows ``first[i] … first[i + 1] − 1`` of each chosen i, one after the other.

    Args:
        first: ``(items + 1,)``.
        chosen: ``(n,)``.
    """
    lengths = first[chosen + 1] - first[chosen]
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first[chosen] - ends + lengths, lengths)


def _flat(functions: pa.Table, name: str) -> tuple[Any, NDArray[np.int64]]:
    column: Any = functions.column(name).combine_chunks()
    lengths = _numbers(column.value_lengths()) if len(column) else np.zeros(0, np.int64)
    return column.flatten(), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _numbers(array: Any) -> NDArray[Any]:
    return array.to_numpy(zero_copy_only=False)
