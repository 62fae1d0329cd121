"""Functions as the model's tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from weft.bcsd.disassemble.interface import EdgeKind
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.model.distance import distances
from weft.bcsd.model.operations import OperationBatch, collate_operations
from weft.bcsd.represent.arrays import FunctionArrays, spans
from weft.bcsd.represent.lexical import at_least, count_tokens
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUM_EDGE_TYPES = 2 * len(EdgeKind)
"""Every kind of edge, and the reverse of each."""
NUM_BLOCK_FACTS = 6


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
    lengths = arrays.num_instructions[chosen]
    blocks = arrays.num_blocks[chosen]
    rows = spans(arrays.first_instruction, chosen)
    position = rows - np.repeat(arrays.first_instruction[chosen], lengths)
    function = np.repeat(np.arange(len(chosen)), lengths)
    # Block of each instruction, counted over the batch, and place in that block.
    block_rows = spans(arrays.first_block, chosen)
    first_of = np.cumsum(lengths) - lengths
    starts = arrays.block_start[block_rows] + np.repeat(first_of, blocks)
    sizes = np.diff(starts, append=len(rows))
    block = np.repeat(np.arange(len(starts)), sizes)
    place = np.arange(len(rows)) - starts[block]
    number = np.arange(len(starts)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    in_graph = number < config.max_blocks
    kept = (position < config.max_instructions) | (in_graph[block] & (place < config.max_block_instructions))
    new_row = np.cumsum(kept) - 1
    seen_blocks = np.flatnonzero(in_graph)
    new_block = np.cumsum(in_graph) - 1
    source, target, kind = _edges(arrays, chosen, blocks, in_graph, new_block)
    in_sequence = position < config.max_instructions
    held, held_first = _token_sets(arrays.tokens[rows], function, len(chosen))
    parts = np.array_split(np.arange(len(chosen)), min(groups, len(chosen)))
    sequences = [
        _sequences(part, new_row[in_sequence], function[in_sequence], position[in_sequence], multiple)
        for part in parts
    ]
    if config.block_decay != "none":
        sequences = [
            replace(sequence, distance=distances(arrays, chosen[part], sequence.index.shape[1]))
            for sequence, part in zip(sequences, parts, strict=True)
        ]
    return FunctionBatch(
        tokens=torch.from_numpy(arrays.tokens[rows[kept]].astype(np.int64)),
        block_first=torch.from_numpy(new_row[starts[seen_blocks]]),
        block_facts=_facts(sizes[seen_blocks], number[seen_blocks], source, target),
        held=held,
        held_first=held_first,
        graph=torch.from_numpy(np.repeat(np.arange(len(chosen)), np.minimum(blocks, config.max_blocks))),
        edge_index=torch.from_numpy(
            np.stack([np.concatenate([source, target]), np.concatenate([target, source])])
        ),
        edge_type=torch.from_numpy(np.concatenate([kind, kind + len(EdgeKind)])),
        sequences=tuple(sequences),
        operations=operations,
    )


def _edges(
    arrays: FunctionArrays,
    chosen: NDArray[np.int64],
    blocks: NDArray[np.int64],
    in_graph: NDArray[np.bool_],
    new_block: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Source, target and kind of the edges between blocks that are seen, counted over the batch."""
    rows = spans(arrays.first_edge, chosen)
    shift = np.repeat(np.cumsum(blocks) - blocks, arrays.first_edge[chosen + 1] - arrays.first_edge[chosen])
    edges = arrays.edges[rows].astype(np.int64)
    source, target = edges[:, 0] + shift, edges[:, 1] + shift
    seen = in_graph[source] & in_graph[target]
    return new_block[source[seen]], new_block[target[seen]], edges[seen, 2]


def _token_sets(
    tokens: NDArray[np.uint16], function: NDArray[np.int64], functions: int
) -> tuple[Tensor, Tensor]:
    """The entries of each function's token set, and where each function's begin."""
    held = at_least(count_tokens(tokens, function, functions))
    return torch.from_numpy(held.indices.astype(np.int64)), torch.from_numpy(
        held.indptr[:-1].astype(np.int64)
    )


def _facts(
    sizes: NDArray[np.int64], number: NDArray[np.int64], source: NDArray[Any], target: NDArray[Any]
) -> Tensor:
    """Per block: size, edges out and in, whether it is the entry, an exit, the target of a backward edge."""
    out = np.bincount(source, minlength=len(sizes))
    into = np.bincount(target, minlength=len(sizes))
    loops = np.bincount(target[target <= source], minlength=len(sizes)) > 0
    facts = np.stack([np.log1p(sizes), np.log1p(out), np.log1p(into), number == 0, out == 0, loops], axis=1)
    return torch.from_numpy(facts.astype(np.float32))


def _sequences(
    part: NDArray[np.int64],
    row: NDArray[np.int64],
    function: NDArray[np.int64],
    position: NDArray[np.int64],
    multiple: int,
) -> Sequences:
    begin, end = np.searchsorted(function, [part[0], part[-1] + 1])
    place, owner = position[begin:end], function[begin:end] - part[0]
    longest = int(place.max()) + 1
    shape = (len(part), longest + -longest % multiple)
    index = np.zeros(shape, np.int64)
    mask = np.zeros(shape, bool)
    index[owner, place] = row[begin:end]
    mask[owner, place] = True
    return Sequences(torch.from_numpy(index), torch.from_numpy(mask))
