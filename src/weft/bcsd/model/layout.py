"""Functions laid out for the model, in arrays: what a batch is before it is tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.bcsd.disassemble.interface import EdgeKind
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.represent.arrays import FunctionArrays, spans
from weft.bcsd.represent.lexical import at_least, count_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUM_EDGE_TYPES = 2 * len(EdgeKind)
"""Every kind of edge, and the reverse of each."""
NUM_BLOCK_FACTS = 6


@dataclass(frozen=True, eq=False)
class Layout:
    """The arrays of :class:`weft.bcsd.model.batch.FunctionBatch`, field by field as they stand there.

    Args:
        tokens: ``(instructions, 5)`` int64.
        block_first: ``(blocks,)`` int64.
        block_facts: ``(blocks, NUM_BLOCK_FACTS)`` float32.
        held: ``(entries,)`` int64.
        held_first: ``(functions,)`` int64.
        graph: ``(blocks,)`` int64.
        edge_index: ``(2, edges)`` int64.
        edge_type: ``(edges,)`` int64.
        parts: The functions of each group of sequences, counted over the batch.
        sequences: Of each group the rows ``(functions, seq)`` int64, and the mask ``(functions, seq)`` bool.
    """

    tokens: NDArray[np.int64]
    block_first: NDArray[np.int64]
    block_facts: NDArray[np.float32]
    held: NDArray[np.int64]
    held_first: NDArray[np.int64]
    graph: NDArray[np.int64]
    edge_index: NDArray[np.int64]
    edge_type: NDArray[np.int64]
    parts: tuple[NDArray[np.int64], ...]
    sequences: tuple[tuple[NDArray[np.int64], NDArray[np.bool_]], ...]


def lay_out(
    arrays: FunctionArrays,
    chosen: NDArray[np.int64],
    config: ModelConfig,
    groups: int = 1,
    multiple: int = 1,
) -> Layout:
    """Lay out the chosen functions; arguments as of :func:`weft.bcsd.model.batch.collate`."""
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
    return Layout(
        tokens=arrays.tokens[rows[kept]].astype(np.int64),
        block_first=new_row[starts[seen_blocks]],
        block_facts=_facts(sizes[seen_blocks], number[seen_blocks], source, target),
        held=held,
        held_first=held_first,
        graph=np.repeat(np.arange(len(chosen)), np.minimum(blocks, config.max_blocks)),
        edge_index=np.stack([np.concatenate([source, target]), np.concatenate([target, source])]),
        edge_type=np.concatenate([kind, kind + len(EdgeKind)]),
        parts=tuple(parts),
        sequences=tuple(sequences),
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
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The entries of each function's token set, and where each function's begin."""
    held = at_least(count_tokens(tokens, function, functions))
    return held.indices.astype(np.int64), held.indptr[:-1].astype(np.int64)


def _facts(
    sizes: NDArray[np.int64], number: NDArray[np.int64], source: NDArray[Any], target: NDArray[Any]
) -> NDArray[np.float32]:
    """Per block: size, edges out and in, whether it is the entry, an exit, the target of a backward edge."""
    out = np.bincount(source, minlength=len(sizes))
    into = np.bincount(target, minlength=len(sizes))
    loops = np.bincount(target[target <= source], minlength=len(sizes)) > 0
    facts = np.stack([np.log1p(sizes), np.log1p(out), np.log1p(into), number == 0, out == 0, loops], axis=1)
    return facts.astype(np.float32)


def _sequences(
    part: NDArray[np.int64],
    row: NDArray[np.int64],
    function: NDArray[np.int64],
    position: NDArray[np.int64],
    multiple: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    begin, end = np.searchsorted(function, [part[0], part[-1] + 1])
    place, owner = position[begin:end], function[begin:end] - part[0]
    longest = int(place.max()) + 1
    shape = (len(part), longest + -longest % multiple)
    index = np.zeros(shape, np.int64)
    mask = np.zeros(shape, bool)
    index[owner, place] = row[begin:end]
    mask[owner, place] = True
    return index, mask
