"""Functions as the model's tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.distance import distances
from weft.bcsd.model.layout import NUM_BLOCK_FACTS, NUM_EDGE_TYPES, lay_out
from weft.bcsd.model.operations import OperationBatch, collate_operations
from weft.bcsd.represent.arrays import FunctionArrays
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NUM_BLOCK_FACTS", "NUM_EDGE_TYPES", "FunctionBatch", "Sequences", "collate"]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Some functions of a batch, padded to one length.

    Args:
        index: ``(functions, seq)`` int64, rows of ``FunctionBatch.tokens``; 0 where padded.
        attention_mask: ``(functions, seq)`` bool, True = an instruction.
        distance: ``(functions, seq, seq)`` int64, edges between the blocks of two instructions, whichever way they
            point; −1 where there is no path. None where the model does not ask for it.
    """

    index: Tensor
    attention_mask: Tensor
    distance: Tensor | None = None


@dataclass(frozen=True, eq=False)
class FunctionBatch:
    """A batch of functions.

    The instructions that either branch reads stand once, in order; blocks are bags of them, sequences are
    indices into them. Sequences are grouped by length: padding is paid for within a group only, while the
    loss sees the whole batch.

    Args:
        tokens: ``(instructions, 5)`` int64.
        block_first: ``(blocks,)`` int64, the first row of each block; the rows up to the next are its own.
        block_facts: ``(blocks, NUM_BLOCK_FACTS)`` float32: what a block is, beside its instructions.
        held: ``(entries,)`` int64, the token set of each function, one after the other: token t that stands
            at least ``LEVELS[l]`` times is the entry ``l · vocabulary + t``.
        held_first: ``(functions,)`` int64, the first entry of each function.
        graph: ``(blocks,)`` int64, the function of each block.
        edge_index: ``(2, edges)`` int64, reverse edges included.
        edge_type: ``(edges,)`` int64 below :data:`NUM_EDGE_TYPES`.
        sequences: All functions, in groups, in the order of the batch.
        graph_of: ``(functions,)`` int64, whose graph each function is given; its own where None. A control.
        operations: The graphs of their operations; None where the model does not read them.
    """

    tokens: Tensor
    block_first: Tensor
    block_facts: Tensor
    held: Tensor
    held_first: Tensor
    graph: Tensor
    edge_index: Tensor
    edge_type: Tensor
    sequences: tuple[Sequences, ...]
    graph_of: Tensor | None = None
    operations: OperationBatch | None = None

    @property
    def num_functions(self) -> int:
        """Functions of the batch."""
        return self.held_first.shape[0]


def collate(
    arrays: FunctionArrays,
    chosen: NDArray[np.int64],
    config: ModelConfig,
    groups: int = 1,
    multiple: int = 1,
) -> FunctionBatch:
    """Make a batch of the chosen functions.

    Args:
        arrays: All functions.
        chosen: ``(functions,)``, in the order of the batch; by length, if ``groups`` is more than 1.
        config: The budgets.
        groups: Into how many groups of equal size the sequences are cut.
        multiple: Sequences are padded to a length that it divides.

    Raises:
        InputError: The model reads graphs of operations, and the functions have none.
    """
    operations: OperationBatch | None = None
    if config.reads_operations:
        if arrays.graphs is None:
            raise InputError("the model reads graphs of operations, which a table does not hold")
        operations = collate_operations(arrays.graphs, chosen, config.max_blocks)
    laid = lay_out(arrays, chosen, config, groups, multiple)
    sequences = [Sequences(torch.from_numpy(index), torch.from_numpy(mask)) for index, mask in laid.sequences]
    if config.block_decay != "none":
        sequences = [
            replace(sequence, distance=distances(arrays, chosen[part], sequence.index.shape[1]))
            for sequence, part in zip(sequences, laid.parts, strict=True)
        ]
    return FunctionBatch(
        tokens=torch.from_numpy(laid.tokens),
        block_first=torch.from_numpy(laid.block_first),
        block_facts=torch.from_numpy(laid.block_facts),
        held=torch.from_numpy(laid.held),
        held_first=torch.from_numpy(laid.held_first),
        graph=torch.from_numpy(laid.graph),
        edge_index=torch.from_numpy(laid.edge_index),
        edge_type=torch.from_numpy(laid.edge_type),
        sequences=tuple(sequences),
        operations=operations,
    )
