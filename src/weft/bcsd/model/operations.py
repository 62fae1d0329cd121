"""The graph branch over operations: what a function computes in single assignment, as one summary vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from weft.bcsd.lift.interface import OperationEdge
from weft.bcsd.model.config import ModelConfig
from weft.bcsd.represent.arrays import spans
from weft.bcsd.represent.graphs import CODES, LEVELS, OperationGraphs
from weft.condition.gat import GATEncoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUM_OPERATION_EDGE_TYPES = 2 * len(OperationEdge)
"""Every way in which one operation depends on another, and the reverse of each."""
_STD = 0.1


def graph_encoder(config: ModelConfig, edge_types: int) -> GATEncoder:
    """The graph encoder of a configuration, for blocks or operations: as wide as the model, these kinds of edges."""
    width = config.hidden_size
    return GATEncoder(
        width,
        width,
        width,
        num_layers=config.graph_layers,
        heads=config.heads,
        dropout=config.dropout,
        num_edge_types=edge_types if config.typed_edges else None,
    )


@dataclass(frozen=True, eq=False)
class OperationBatch:
    """The operations of a batch of functions.

    Args:
        codes: ``(operations, LEVELS)`` int64 below ``CODES``; ``CODES`` for the one node of a function without a graph.
        graph: ``(operations,)`` int64, the function of each.
        edge_index: ``(2, edges)`` int64, where a message comes from and goes to: from what an operation depends on to
            it, and back but to those that depend on nothing.
        edge_type: ``(edges,)`` int64 below :data:`NUM_OPERATION_EDGE_TYPES`, reverses in the second half.
        held: ``(entries,)`` int64, the distinct codes of each function, all levels, one function after the other.
        held_first: ``(functions,)`` int64, the first entry of each function.
    """

    codes: Tensor
    graph: Tensor
    edge_index: Tensor
    edge_type: Tensor
    held: Tensor
    held_first: Tensor


def collate_operations(graphs: OperationGraphs, chosen: NDArray[np.int64], largest: int) -> OperationBatch:
    """Make a batch of the chosen functions' graphs.

    Args:
        graphs: Of all functions.
        chosen: ``(functions,)``, in the order of the batch.
        largest: Operations of a function that are kept, the first.
    """
    own = graphs.num_nodes[chosen]
    kept = np.minimum(own, largest)
    sizes = np.maximum(kept, 1)
    first = np.cumsum(sizes) - sizes
    function = np.repeat(np.arange(len(chosen)), sizes)
    codes = np.full((len(function), LEVELS), CODES, np.int64)
    rows = spans(graphs.first_node, chosen)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(own) - own, own)
    owner = np.repeat(np.arange(len(chosen)), own)
    seen = place < largest
    codes[first[owner[seen]] + place[seen]] = graphs.codes[rows[seen]]
    sets = np.unique(np.repeat(owner, LEVELS) * CODES + graphs.codes[rows].reshape(-1))
    edge_rows = spans(graphs.first_edge, chosen)
    of = np.repeat(np.arange(len(chosen)), np.diff(graphs.first_edge)[chosen])
    edges = graphs.edges[edge_rows].astype(np.int64)
    within = (edges < largest).all(axis=1)
    user, operand = (edges[within] + first[of[within], None]).T
    kind = graphs.kinds[edge_rows][within].astype(np.int64)
    depends = np.zeros(len(function), bool)
    depends[user] = True
    back = depends[operand]
    return OperationBatch(
        codes=torch.from_numpy(codes),
        graph=torch.from_numpy(function),
        edge_index=torch.from_numpy(
            np.stack([np.concatenate([operand, user[back]]), np.concatenate([user, operand[back]])])
        ),
        edge_type=torch.from_numpy(np.concatenate([kind, kind[back] + len(OperationEdge)])),
        held=torch.from_numpy(sets % CODES),
        held_first=torch.from_numpy(np.searchsorted(sets, np.arange(len(chosen)) * CODES)),
    )


class OperationEncoder(nn.Module):
    """From a function's operations to a summary.

        x_n = LayerNorm(Σ over the levels l of T_l[code_nl mod operation_codes])
        s   = pooling(GAT(x, typed and reversed edges) + x)

    Without ``+ x`` two layers of means would leave little of which operations there are.

    Args:
        config: Sizes, ``operation_levels``, ``operation_codes``, ``edges``, ``typed_edges``, ``reverse_edges``.

    Source:
        :class:`weft.condition.gat.GATEncoder`.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        width = config.hidden_size
        tables = [nn.Embedding(config.operation_codes + 1, width) for _ in range(config.operation_levels)]
        for table in tables:
            nn.init.normal_(table.weight, std=_STD)
        self.tables = nn.ModuleList(tables)
        self.norm = nn.LayerNorm(width)
        self.gat = graph_encoder(config, NUM_OPERATION_EDGE_TYPES)

    def forward(self, batch: OperationBatch, functions: int) -> Tensor:
        """Summaries ``(functions, hidden)``."""
        size = self.config.operation_codes
        rows = torch.where(batch.codes == CODES, size, batch.codes % size)
        found = [table(rows[:, level]) for level, table in enumerate(self.tables)]
        x = self.norm(sum(found[1:], found[0]))
        edge_index, edge_type = self._edges(batch)
        states = self.gat.nodes(x, edge_index, edge_type if self.config.typed_edges else None)
        return self.gat.pooling(states + x, batch.graph, functions)

    def _edges(self, batch: OperationBatch) -> tuple[Tensor, Tensor]:
        if not self.config.edges:
            return batch.edge_index[:, :0], batch.edge_type[:0]
        if self.config.reverse_edges:
            return batch.edge_index, batch.edge_type
        forward = batch.edge_type < len(OperationEdge)
        return batch.edge_index[:, forward], batch.edge_type[forward]
