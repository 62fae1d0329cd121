"""Typed directed graphs as plain data, and many of them batched into one.

A batch is one large graph without edges between its members: node indices are shifted, and
``batch[node]`` names the member. Everything that computes on graphs takes tensors in this form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
from torch import Tensor

from weft.errors import DtypeError, GraphError, NonFiniteError, ShapeError, with_article


@dataclass(frozen=True, eq=False)
class Graph:
    """One directed graph.

    Args:
        num_nodes: Number of nodes, at least 1.
        edge_index: ``(2, num_edges)`` int64, row 0 the sources, row 1 the targets; may be empty.
        edge_type: ``(num_edges,)`` int64, from 0, or None where edges have no types.
        x: Node features ``(num_nodes, features)``, or None.

    Raises:
        GraphError: No nodes, an edge that leaves the graph (the message names it), a negative type.
        ShapeError: Tensors whose shapes do not fit.
        DtypeError: Indices or types that are not int64.
        NonFiniteError: NaN or infinity in ``x`` (the message names the node).
    """

    num_nodes: int
    edge_index: Tensor
    edge_type: Tensor | None = None
    x: Tensor | None = None

    def __post_init__(self) -> None:
        if self.num_nodes < 1:
            raise GraphError(
                f"a graph with {self.num_nodes} nodes", hint="leave empty graphs out of the batch"
            )
        check_edges(self.edge_index, self.num_nodes, self.edge_type)
        _check_features(self.x, self.num_nodes)

    @property
    def num_edges(self) -> int:
        """Number of edges."""
        return self.edge_index.shape[1]


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Many graphs as one.

    Args:
        edge_index: ``(2, num_edges)`` int64, indices into the nodes of the whole batch.
        batch: ``(num_nodes,)`` int64, the graph of each node.
        num_graphs: Number of graphs; each has at least one node.
        edge_type: ``(num_edges,)`` int64, or None.
        x: Node features ``(num_nodes, features)``, or None.

    Raises:
        GraphError: As for :class:`Graph`, and: a graph without nodes, an edge between two graphs.
        ShapeError: Tensors whose shapes do not fit.
        DtypeError: Indices or types that are not int64.
        NonFiniteError: NaN or infinity in ``x``.
    """

    edge_index: Tensor
    batch: Tensor
    num_graphs: int
    edge_type: Tensor | None = None
    x: Tensor | None = None

    def __post_init__(self) -> None:
        check_assignment(self.batch, self.num_graphs)
        check_edges(self.edge_index, self.num_nodes, self.edge_type)
        _check_features(self.x, self.num_nodes)
        ends = self.batch[self.edge_index]
        apart = (ends[0] != ends[1]).nonzero()
        if len(apart):
            edge = int(apart[0])
            raise GraphError(
                f"edge {edge} joins node {int(self.edge_index[0, edge])} of graph {int(ends[0, edge])} "
                f"and node {int(self.edge_index[1, edge])} of graph {int(ends[1, edge])}",
                where="edge_index",
            )

    @property
    def num_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return self.batch.shape[0]

    @classmethod
    def from_graphs(cls, graphs: Sequence[Graph]) -> GraphBatch:
        """Batch graphs; all of them have types or none has, and likewise for features.

        Raises:
            GraphError: No graphs, or types or features in some of them only.
            ShapeError: Features of different widths.
        """
        if not graphs:
            raise GraphError("an empty batch: there are no graphs in it")
        sizes = [graph.num_nodes for graph in graphs]
        starts = [0, *accumulate(sizes)]
        edges = [graph.edge_index + start for graph, start in zip(graphs, starts, strict=False)]
        device = graphs[0].edge_index.device
        return cls(
            edge_index=torch.cat(edges, dim=1),
            batch=torch.arange(len(graphs), device=device).repeat_interleave(
                torch.tensor(sizes, device=device)
            ),
            num_graphs=len(graphs),
            edge_type=_concatenate("edge_type", [graph.edge_type for graph in graphs]),
            x=_concatenate("x", [graph.x for graph in graphs]),
        )

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> GraphBatch:
        """The same batch on another device; it is not checked again there, where a look waits for the device."""
        moved = object.__new__(GraphBatch)
        for name, value in vars(self).items():
            value = value.to(device, non_blocking=non_blocking) if isinstance(value, Tensor) else value
            object.__setattr__(moved, name, value)
        return moved


def add_reverse_edges(
    edge_index: Tensor, edge_type: Tensor | None, num_edge_types: int
) -> tuple[Tensor, Tensor]:
    """Append the reverse of every edge; the reverse of type t is the type ``num_edge_types + t``.

    Args:
        edge_index: ``(2, num_edges)`` int64.
        edge_type: ``(num_edges,)`` int64 below ``num_edge_types``; None counts as type 0 everywhere.
        num_edge_types: Number of types before the call.

    Returns:
        ``edge_index (2, 2 · num_edges)`` and ``edge_type (2 · num_edges,)``: ``2 · num_edge_types`` types.
    """
    if edge_type is None:
        edge_type = edge_index.new_zeros(edge_index.shape[1])
    both = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    return both, torch.cat([edge_type, edge_type + num_edge_types])


def add_self_loops(
    edge_index: Tensor, edge_type: Tensor | None, num_nodes: int, loop_type: int
) -> tuple[Tensor, Tensor | None]:
    """Append one loop to every node.

    With types, the appended loops have the type ``loop_type`` and stand beside the loops that are
    there (a block that jumps to itself is a fact of its own). Without types such a loop would only
    count its node twice, so loops that are there are replaced.

    Returns:
        ``edge_index (2, num_edges + num_nodes)``, at most, and ``edge_type`` or None.
    """
    loops = torch.arange(num_nodes, device=edge_index.device).expand(2, -1)
    if edge_type is None:
        return torch.cat([edge_index[:, edge_index[0] != edge_index[1]], loops], dim=1), None
    types = torch.cat([edge_type, edge_type.new_full((num_nodes,), loop_type)])
    return torch.cat([edge_index, loops], dim=1), types


def with_reverse_edges(graph: Graph, num_edge_types: int) -> Graph:
    """The graph with the reverse of every edge, as :func:`add_reverse_edges` numbers them."""
    edge_index, edge_type = add_reverse_edges(graph.edge_index, graph.edge_type, num_edge_types)
    return replace(graph, edge_index=edge_index, edge_type=edge_type)


def check_edges(
    edge_index: Tensor, num_nodes: int, edge_type: Tensor | None = None, num_edge_types: int | None = None
) -> None:
    """Check shape, dtype and range of edges.

    Raises:
        GraphError: An index or a type out of range: the first such edge is named.
        ShapeError: ``edge_index`` is not ``(2, num_edges)``, or ``edge_type`` not ``(num_edges,)``.
        DtypeError: Either is not int64, or no tensor.
    """
    for name, given in (("edge_index", edge_index), ("edge_type", edge_type)):
        if given is not None and not isinstance(given, Tensor):
            raise DtypeError(
                f"{name} is {with_article(type(given).__name__)}; it must be a tensor of int64",
                hint=f"torch.as_tensor({name})",
            )
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ShapeError(f"edge_index has shape {tuple(edge_index.shape)}; it must be (2, num_edges)")
    _check_int64("edge_index", edge_index)
    if edge_index.numel() and _out_of_range(edge_index, num_nodes):
        edge = int(((edge_index < 0) | (edge_index >= num_nodes)).any(dim=0).nonzero()[0])
        source, target = edge_index[:, edge].tolist()
        raise GraphError(
            f"edge {edge} goes from node {source} to node {target}; nodes are 0 to {num_nodes - 1}",
            where="edge_index",
        )
    if edge_type is None:
        return
    if tuple(edge_type.shape) != (edge_index.shape[1],):
        raise ShapeError(
            f"edge_type has shape {tuple(edge_type.shape)}; edge_index {tuple(edge_index.shape)} "
            f"needs ({edge_index.shape[1]},)"
        )
    _check_int64("edge_type", edge_type)
    limit = torch.iinfo(torch.int64).max if num_edge_types is None else num_edge_types
    if edge_type.numel() and _out_of_range(edge_type, limit):
        edge = int(((edge_type < 0) | (edge_type >= limit)).nonzero()[0])
        known = "types start at 0" if num_edge_types is None else f"types are 0 to {num_edge_types - 1}"
        raise GraphError(f"edge {edge} has type {int(edge_type[edge])}; {known}", where="edge_type")


def check_assignment(batch: Tensor, num_graphs: int) -> None:
    """Check that every node has a graph and every graph a node.

    Raises:
        GraphError: No nodes, a node of an unknown graph, a graph without nodes.
        ShapeError: ``batch`` is not ``(num_nodes,)``.
        DtypeError: It is not int64.
    """
    if batch.dim() != 1:
        raise ShapeError(f"batch has shape {tuple(batch.shape)}; it must be (num_nodes,)")
    _check_int64("batch", batch)
    if batch.numel() == 0:
        raise GraphError("an empty batch: there are no nodes in it", where="batch")
    if _out_of_range(batch, num_graphs):
        node = int(((batch < 0) | (batch >= num_graphs)).nonzero()[0])
        raise GraphError(
            f"node {node} belongs to graph {int(batch[node])}; graphs are 0 to {num_graphs - 1}",
            where="batch",
        )
    empty = (torch.bincount(batch, minlength=num_graphs) == 0).nonzero()
    if len(empty):
        raise GraphError(
            f"graph {int(empty[0])} has no nodes", where="batch", hint="leave empty graphs out of the batch"
        )


def _out_of_range(index: Tensor, limit: int) -> bool:
    low, high = torch.stack(torch.aminmax(index)).tolist()  # one wait for the device, not two
    return low < 0 or high >= limit


def _check_int64(name: str, tensor: Tensor) -> None:
    if tensor.dtype != torch.int64:
        raise DtypeError(f"{name} is {tensor.dtype}; it must be torch.int64")


def _check_features(x: Tensor | None, num_nodes: int) -> None:
    if x is None:
        return
    if x.dim() != 2 or x.shape[0] != num_nodes:
        raise ShapeError(
            f"x has shape {tuple(x.shape)}; a graph of {num_nodes} nodes needs ({num_nodes}, features)"
        )
    finite = torch.isfinite(x.detach()).all(dim=1)
    if not finite.all():
        node = int((~finite).nonzero()[0])
        raise NonFiniteError(f"node {node} has NaN or infinity among its features", where="x")


def _concatenate(name: str, parts: Sequence[Tensor | None]) -> Tensor | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if len(present) < len(parts):
        missing = next(i for i, part in enumerate(parts) if part is None)
        raise GraphError(f"graph {missing} has no {name}, others in the batch have")
    shapes = {tuple(part.shape[1:]) for part in present}
    if len(shapes) > 1:
        raise ShapeError(f"{name} differs in width within a batch: {sorted(shapes)}")
    return torch.cat(present)
