"""Graph attention: a batch of graphs in, one summary vector for each graph out.

Everything is a segment operation in plain PyTorch. Edges are sorted by target once per batch, so
that the edges into a node are neighbours in memory; each layer then weighs and sums its messages
in one pass (``embedding_bag``), and no tensor of (edges, heads, width) is ever built.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.errors import ConfigError, InputError, ShapeError
from weft.graph.graph import add_self_loops, check_assignment, check_edges
from weft.platform.ranges import at_least


def segment_softmax(scores: Tensor, segment: Tensor, num_segments: int) -> Tensor:
    """Softmax over the entries of each segment.

    w_e = exp(s_e) / Σ_{f: segment_f = segment_e} exp(s_f)

    Args:
        scores: ``(..., entries)``.
        segment: ``(entries,)`` int64, in any order.
        num_segments: Number of segments; empty ones are fine.

    Returns:
        Weights ``(..., entries)``, in float32 at least.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    shape = (*scores.shape[:-1], num_segments)
    # A maximum per segment, not one for all: far below a common maximum a whole segment would underflow.
    index = segment.expand(scores.shape)
    highest = scores.new_full(shape, float("-inf")).scatter_reduce_(-1, index, scores.detach(), "amax")
    exponentials = (scores - highest[..., segment]).exp()
    totals = scores.new_zeros(shape).index_add(-1, segment, exponentials)
    return exponentials / totals[..., segment]


@dataclass(frozen=True, eq=False)
class IncomingEdges:
    """Edges sorted by target: those into node i are ``start[i]`` up to ``start[i + 1]``.

    Args:
        source: ``(num_edges,)``.
        target: ``(num_edges,)``, ascending.
        start: ``(num_nodes,)``, the first edge into each node.
        edge_type: ``(num_edges,)`` or None.
    """

    source: Tensor
    target: Tensor
    start: Tensor
    edge_type: Tensor | None

    @classmethod
    def sort(cls, edge_index: Tensor, num_nodes: int, edge_type: Tensor | None = None) -> IncomingEdges:
        """Sort checked edges; once per batch, for all layers."""
        target, order = torch.sort(edge_index[1], stable=True)
        start = torch.searchsorted(target, torch.arange(num_nodes, device=target.device))
        return cls(edge_index[0][order], target, start, None if edge_type is None else edge_type[order])


class GATLayer(nn.Module):
    """One layer of graph attention.

    e_ij = LeakyReLU(a_targetᵀ W x_i + a_sourceᵀ W x_j + b_type(j→i))
    α_ij = softmax over the edges into i
    x'_i = ‖_heads Σ_j α_ij W x_j + bias

    A node without incoming edges gets the bias alone.

    Args:
        input_dim: Width of a node's input.
        head_dim: Width of one head's output.
        heads: Number of heads; their outputs are concatenated.
        num_edge_types: Number of edge types, or None for untyped edges. The score b of each type and
            head starts at zero.
        bias: Whether the layer has a bias.
        negative_slope: Slope of LeakyReLU below zero.

    Source:
        Veličković et al. 2018, "Graph Attention Networks", §2.1, equations 1–5.

    Differs from the paper:
        Edges may have types, which enter as b: the same as PyG's ``GATConv`` with one-hot edge features.
    """

    def __init__(
        self,
        input_dim: int,
        head_dim: int,
        heads: int,
        *,
        num_edge_types: int | None = None,
        bias: bool = True,
        negative_slope: float = 0.2,
    ) -> None:
        super().__init__()
        at_least(1, input_dim=input_dim, head_dim=head_dim, heads=heads)
        self.head_dim = head_dim
        self.heads = heads
        self.negative_slope = negative_slope
        self.linear = nn.Linear(input_dim, heads * head_dim, bias=False)
        self.attention_source = nn.Parameter(torch.empty(heads, head_dim))
        self.attention_target = nn.Parameter(torch.empty(heads, head_dim))
        self.type_score = None if num_edge_types is None else nn.Parameter(torch.zeros(heads, num_edge_types))
        self.bias = nn.Parameter(torch.zeros(heads * head_dim)) if bias else None
        for weight in (self.linear.weight, self.attention_source, self.attention_target):
            nn.init.xavier_uniform_(weight)

    def forward(self, x: Tensor, edges: IncomingEdges) -> Tensor:
        """Pass messages along the edges.

        Args:
            x: ``(num_nodes, input_dim)``.
            edges: The edges of the batch.

        Returns:
            ``(num_nodes, heads · head_dim)``.
        """
        values = self.linear(x)
        weights = segment_softmax(self._scores(values, edges), edges.target, x.shape[0])
        out = self._weighted_sum(values, weights, edges)
        return out if self.bias is None else out + self.bias

    def _scores(self, values: Tensor, edges: IncomingEdges) -> Tensor:
        """e, ``(heads, num_edges)``."""
        by_head = values.view(-1, self.heads, self.head_dim).transpose(0, 1)
        vectors = torch.stack([self.attention_source, self.attention_target], dim=-1)
        of_source, of_target = torch.bmm(by_head, vectors.to(by_head.dtype)).unbind(-1)
        scores = of_source[:, edges.source] + of_target[:, edges.target]
        if self.type_score is not None:
            if edges.edge_type is None:
                raise InputError("edges without types for a layer with edge types", hint="pass edge_type")
            scores = scores + self.type_score[:, edges.edge_type]
        return F.leaky_relu(scores, self.negative_slope)

    def _weighted_sum(self, values: Tensor, weights: Tensor, edges: IncomingEdges) -> Tensor:
        """Σ_j α_ij W x_j, ``(num_nodes, heads · head_dim)``.

        One bag per (head, node), its entries the rows (source, head) of ``values``: the messages are
        weighed while they are summed and never stored.
        """
        num_edges = edges.source.shape[0]
        head = torch.arange(self.heads, device=values.device)[:, None]
        out = F.embedding_bag(
            (edges.source * self.heads + head).flatten(),
            values.reshape(-1, self.head_dim),
            (edges.start + num_edges * head).flatten(),
            mode="sum",
            per_sample_weights=weights.to(values.dtype).flatten(),
        )
        return out.view(self.heads, -1, self.head_dim).transpose(0, 1).reshape(values.shape)


class AttentionPooling(nn.Module):
    """Summarise the nodes of each graph by attention.

    w_n = softmax over the nodes of the graph (scoreᵀ x_n),    summary = Σ_n w_n · (V x_n + b)

    Args:
        input_dim: Width of a node.
        output_dim: Width of a summary.

    Source:
        Li et al. 2016, "Gated Graph Sequence Neural Networks", equation 7, with a softmax for the gate.
    """

    def __init__(self, input_dim: int, output_dim: int) -> None:
        super().__init__()
        # No bias in the score: the softmax would not see it.
        self.score = nn.Linear(input_dim, 1, bias=False)
        self.value = nn.Linear(input_dim, output_dim)

    def weights(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        """Weight of each node in its graph, ``(num_nodes,)``."""
        return segment_softmax(self.score(x).squeeze(-1), batch, num_graphs)

    def forward(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        """Pool nodes ``(num_nodes, input_dim)`` into summaries ``(num_graphs, output_dim)``."""
        # In half precision, sums of many small parts would stop growing.
        wide = torch.promote_types(x.dtype, torch.float32)
        weighed = self.value(x).to(wide) * self.weights(x, batch, num_graphs).to(wide)[:, None]
        total = weighed.new_zeros(num_graphs, weighed.shape[1]).index_add(0, batch, weighed)
        return total.to(x.dtype)


class GATEncoder(nn.Module):
    """Summarise each graph of a batch in one vector.

    Per layer: graph attention over incoming edges and a self-loop, heads concatenated, a projection;
    LeakyReLU between layers, dropout after each layer; attention pooling at the end.

    Args:
        input_dim: Width of a node's features.
        hidden_dim: Width of a node between layers; each head has ``hidden_dim / heads`` of it.
        output_dim: Width of a summary.
        num_layers: Number of layers.
        heads: Heads per layer.
        dropout: Dropout probability after each layer.
        num_edge_types: Number of edge types, reverse types included; None for untyped edges. Self-loops
            become one type more.

    Raises:
        ConfigError: A size below 1, heads that do not divide ``hidden_dim``, a dropout outside [0, 1).

    Source:
        The model module contract, "GNN Module API".

    Differs from the spec:
        The contract does not say whether ``hidden_dim`` is the width of a head or of all of them
        together; here it is all of them, as in a transformer, so that a layer keeps its width.
        It names no edge types; they are optional here. It needs PyG, this does not.
    """

    def __init__(
        self,
        input_dim: int,
        hidden_dim: int,
        output_dim: int,
        num_layers: int = 3,
        heads: int = 4,
        dropout: float = 0.2,
        *,
        num_edge_types: int | None = None,
    ) -> None:
        super().__init__()
        at_least(1, hidden_dim=hidden_dim, output_dim=output_dim, num_layers=num_layers, heads=heads)
        if hidden_dim % heads:
            raise ConfigError(
                f"hidden_dim is {hidden_dim} and heads is {heads}; heads must divide hidden_dim"
            )
        if not 0.0 <= dropout < 1.0:
            raise ConfigError(f"dropout is {dropout}; it must be in [0, 1)")
        if num_edge_types is not None:
            at_least(1, num_edge_types=num_edge_types)
        self.input_dim = input_dim
        self.num_edge_types = num_edge_types
        types = None if num_edge_types is None else num_edge_types + 1
        widths = [input_dim] + [hidden_dim] * (num_layers - 1)
        self.layers = nn.ModuleList(
            # The projection that follows has a bias, so the layers have none.
            GATLayer(width, hidden_dim // heads, heads, num_edge_types=types, bias=False)
            for width in widths
        )
        self.projections = nn.ModuleList(nn.Linear(hidden_dim, hidden_dim) for _ in widths)
        self.dropout = nn.Dropout(dropout)
        self.pooling = AttentionPooling(hidden_dim, output_dim)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor,
        edge_type: Tensor | None = None,
        num_graphs: int | None = None,
    ) -> Tensor:
        """Summarise the graphs of a batch.

        Args:
            x: ``(num_nodes, input_dim)``.
            edge_index: ``(2, num_edges)`` int64, sources and targets; may be empty.
            batch: ``(num_nodes,)`` int64, the graph of each node.
            edge_type: ``(num_edges,)`` int64, where the encoder has edge types.
            num_graphs: Number of graphs; by default the largest entry of ``batch`` plus one.

        Returns:
            ``(num_graphs, output_dim)``.

        Raises:
            GraphError: No nodes, a graph without nodes, an edge or a type out of range.
            ShapeError: Tensors whose shapes do not fit.
            DtypeError: Indices that are not int64.
            InputError: Types for an encoder without, or no types for an encoder with types.
        """
        if num_graphs is None:
            num_graphs = int(batch.max()) + 1 if batch.numel() else 0
        check_assignment(batch, num_graphs)
        if batch.shape[0] != x.shape[0]:
            raise ShapeError(
                f"batch has shape {tuple(batch.shape)}; x {tuple(x.shape)} has {x.shape[0]} nodes"
            )
        return self.pooling(self.nodes(x, edge_index, edge_type), batch, num_graphs)

    def nodes(self, x: Tensor, edge_index: Tensor, edge_type: Tensor | None = None) -> Tensor:
        """Node states ``(num_nodes, hidden_dim)`` after the last layer; arguments as for :meth:`forward`.

        Raises:
            GraphError: An edge or a type out of range.
            ShapeError: Tensors whose shapes do not fit.
            DtypeError: Indices that are not int64.
            InputError: Types for an encoder without, or no types for an encoder with types.
        """
        if x.dim() != 2 or x.shape[1] != self.input_dim:
            raise ShapeError(f"x has shape {tuple(x.shape)}; it must be (num_nodes, {self.input_dim})")
        if (edge_type is None) != (self.num_edge_types is None):
            given, built = ("no edge_type", "with") if edge_type is None else ("edge_type", "without")
            raise InputError(
                f"{given} for an encoder built {built} edge types",
                hint="num_edge_types and edge_type go together",
            )
        num_nodes = x.shape[0]
        check_edges(edge_index, num_nodes, edge_type, self.num_edge_types)
        edge_index, edge_type = add_self_loops(edge_index, edge_type, num_nodes, self.num_edge_types or 0)
        edges = IncomingEdges.sort(edge_index, num_nodes, edge_type)
        last = len(self.layers) - 1
        for index, (layer, project) in enumerate(zip(self.layers, self.projections, strict=True)):
            x = project(layer(x, edges))
            x = self.dropout(x if index == last else F.leaky_relu(x))
        return x
