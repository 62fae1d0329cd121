"""How far instructions are from each other in the control-flow graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from weft.bcsd.represent.arrays import FunctionArrays
from weft.condition.decay import UNREACHABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray


def distances(arrays: FunctionArrays, chosen: NDArray[np.int64], length: int) -> Tensor:
    """Edges on the shortest way between the blocks of two instructions, whichever way the edges point.

    Ways lead through the blocks of the first ``length`` instructions alone: of a longer function the sequence
    sees no more.

    Args:
        arrays: All functions.
        chosen: ``(functions,)``.
        length: Instructions of each, at most.

    Returns:
        ``(functions, length, length)`` int64: 0 within a block, −1 where there is no way, or nothing at all.
    """
    found = np.full((len(chosen), length, length), UNREACHABLE, dtype=np.int64)
    for row, function in enumerate(chosen.tolist()):
        count = min(int(arrays.num_instructions[function]), length)
        starts = arrays.block_start[arrays.first_block[function] : arrays.first_block[function + 1]]
        block = np.searchsorted(starts, np.arange(count), side="right") - 1
        between = _between_blocks(arrays, function, int(block[-1]) + 1)
        found[row, :count, :count] = between[block[:, None], block]
    return torch.from_numpy(found)


def _between_blocks(arrays: FunctionArrays, function: int, blocks: int) -> NDArray[np.int64]:
    """The distances of the first blocks of a function, ``(blocks, blocks)``."""
    # Slow to load, and only a model with a decay over blocks needs it.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    edges = arrays.edges[arrays.first_edge[function] : arrays.first_edge[function + 1], :2]
    edges = edges[(edges < blocks).all(axis=1)]
    graph = csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(blocks, blocks))
    steps = shortest_path(graph, directed=False, unweighted=True)
    return np.where(np.isinf(steps), UNREACHABLE, steps).astype(np.int64)
