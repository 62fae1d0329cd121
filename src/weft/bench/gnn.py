"""`weft bench gnn`: graph attention against PyG, triple fusion against a loop, the decay table against recomputing.

PyG is the baseline here and the oracle in the tests; the library itself does not need it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.bench.measure import medians
from weft.bench.table import Row
from weft.condition.decay import DistanceDecay
from weft.condition.gat import GATEncoder, GATLayer, IncomingEdges
from weft.condition.hgat import HGAT
from weft.errors import MissingExtraError
from weft.graph.graph import Graph, GraphBatch, add_self_loops
from weft.graph.triples import Triples

GRAPHS = 64
WIDTH, HEADS = 256, 4
GAT_SPEED = 1 / 0.95
"""At least 0.95 of PyG's speed, as a ratio of times."""

HGAT_SPEED = 1 / 10
"""At least ten times the speed of the loop, as a ratio of times."""

EQUAL = 1e-5


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` runs few repetitions, for a look, not for a claim.

    Raises:
        MissingExtraError: PyG is not installed.
    """
    geometric = _geometric()
    torch.manual_seed(0)
    repeats = 5 if quick else 25
    yield from _gat_layer(geometric, repeats)
    yield from _gat_encoder(geometric, repeats)
    yield from _hgat(max(3, repeats // 3))
    yield from _decay(max(3, repeats // 3))


def control_flow_graphs(count: int, seed: int = 0) -> GraphBatch:
    """Random graphs shaped like control flow: 5 to 60 blocks, falls, jumps, and the reverse of each."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for _ in range(count):
        nodes = int(torch.randint(5, 60, (1,), generator=generator))
        falls = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
        jumps = torch.randint(0, nodes, (2, nodes // 2), generator=generator)
        edges = torch.cat([falls, jumps[:, jumps[0] != jumps[1]]], dim=1)
        graphs.append(Graph(nodes, torch.cat([edges, edges.flip(0)], dim=1)))
    return GraphBatch.from_graphs(graphs)


def fusion_by_loop(hgat: HGAT, embeddings: Tensor, triples: Triples) -> Tensor:
    """The published form: relations looked up once, then triple by triple, W_r on every token of both.

    Kinder than what was published: the tokens of a triple go together, and ``unbind`` spares the backward
    a table of zeros per triple (which alone makes it a hundred times slower).
    """
    hidden = embeddings.shape[-1]
    matrices = F.embedding(triples.relation, hgat.weight.flatten(1)).view(-1, hidden, hidden).unbind(0)
    vectors = F.embedding(triples.relation, hgat.attention.flatten(1)).unbind(0)
    out = embeddings.clone()
    for number in range(len(triples)):
        example = int(triples.example[number])
        head_at = [position for position in triples.head[number].tolist() if position >= 0]
        tail_at = [position for position in triples.tail[number].tolist() if position >= 0]
        heads = embeddings[example, head_at] @ matrices[number].t()
        tails = embeddings[example, tail_at] @ matrices[number].t()
        pairs = torch.cat(
            [
                tails[:, None].expand(-1, len(head_at), -1),
                heads[None].expand(len(tail_at), -1, -1),
            ],
            dim=-1,
        )
        weights = torch.softmax(F.leaky_relu(pairs @ vectors[number], 0.01), dim=-1)
        out[example, tail_at] = out[example, tail_at] + weights @ heads
    return out


def _geometric() -> ModuleType:
    try:
        with warnings.catch_warnings():
            # PyG scripts classes while it is imported, which torch deprecates.
            warnings.simplefilter("ignore", DeprecationWarning)
            import torch_geometric.nn
    except ImportError as error:
        raise MissingExtraError("torch_geometric", "dev") from error
    return torch_geometric.nn


def _twin(geometric: ModuleType, layer: GATLayer) -> Any:
    """PyG's layer with the same parameters."""
    twin = geometric.GATConv(
        layer.linear.in_features, layer.head_dim, heads=layer.heads, bias=layer.bias is not None
    )
    with torch.no_grad():
        twin.lin.weight.copy_(layer.linear.weight)
        twin.att_src.copy_(layer.attention_source[None])
        twin.att_dst.copy_(layer.attention_target[None])
    return twin


def _timed(
    name: str, variant: str, ours: Callable[[], Tensor], baseline: Callable[[], Tensor],
    modules: list[nn.Module], repeats: int, target: float | None,
) -> Iterator[Row]:  # fmt: skip
    with torch.no_grad():
        mine, theirs = medians(ours, baseline, repeats)
    yield Row(name, f"{variant}, forward", "fp32", "ms", mine, theirs)

    def step(forward: Callable[[], Tensor]) -> Callable[[], None]:
        weight = torch.randn_like(forward())

        def run() -> None:
            for module in modules:
                module.zero_grad()
            forward().backward(weight)

        return run

    mine, theirs = medians(step(ours), step(baseline), repeats)
    yield Row(name, f"{variant}, forward+backward", "fp32", "ms", mine, theirs, target=target)


def _difference(
    name: str, variant: str, ours: Tensor, baseline: Tensor, pairs: list[tuple[Tensor, Tensor]]
) -> Iterator[Row]:
    """The largest difference of outputs, and of gradients as a share of the largest entry (a sum over all nodes)."""
    yield Row(name, f"{variant}, outputs", "fp32", "max abs", _largest(ours - baseline), 1.0, target=EQUAL)
    weight = torch.randn_like(ours)
    ours.backward(weight)
    baseline.backward(weight)
    worst = 0.0
    for mine, theirs in pairs:
        if mine.grad is None or theirs.grad is None:
            raise RuntimeError(f"{name}: a parameter without a gradient")
        oracle = theirs.grad.view_as(mine.grad)
        worst = max(worst, _largest(mine.grad - oracle) / max(1.0, _largest(oracle)))
    yield Row(name, f"{variant}, gradients", "fp32", "max rel", worst, 1.0, target=EQUAL)


def _largest(tensor: Tensor) -> float:
    return float(tensor.detach().abs().max())


def _gat_layer(geometric: ModuleType, repeats: int) -> Iterator[Row]:
    batch = control_flow_graphs(GRAPHS)
    layer = GATLayer(WIDTH, WIDTH // HEADS, HEADS)
    twin = _twin(geometric, layer)
    x = torch.randn(batch.num_nodes, WIDTH, requires_grad=True)

    def ours() -> Tensor:
        # Self-loops and sorting are counted: PyG adds its loops in every layer.
        edge_index, _ = add_self_loops(batch.edge_index, None, batch.num_nodes, 0)
        return layer(x, IncomingEdges.sort(edge_index, batch.num_nodes))

    def theirs() -> Tensor:
        return twin(x, batch.edge_index)

    name, variant = (
        "GAT layer vs PyG GATConv",
        f"{GRAPHS} graphs, {batch.num_nodes} nodes, {HEADS}×{WIDTH // HEADS}",
    )
    parameters = [
        (layer.linear.weight, twin.lin.weight),
        (layer.attention_source, twin.att_src),
        (layer.attention_target, twin.att_dst),
    ]
    yield from _difference(name, variant, ours(), theirs(), parameters)
    yield from _timed(name, variant, ours, theirs, [layer, twin], repeats, GAT_SPEED)


def _gat_encoder(geometric: ModuleType, repeats: int) -> Iterator[Row]:
    batch = control_flow_graphs(GRAPHS, seed=1)
    encoder = GATEncoder(WIDTH, WIDTH, WIDTH, dropout=0.0)
    convolutions = nn.ModuleList(
        _twin(geometric, layer) for layer in encoder.layers if isinstance(layer, GATLayer)
    )
    x = torch.randn(batch.num_nodes, WIDTH)

    def ours() -> Tensor:
        return encoder(x, batch.edge_index, batch.batch, num_graphs=GRAPHS)

    def theirs() -> Tensor:
        states = x
        for index, (convolve, project) in enumerate(zip(convolutions, encoder.projections, strict=True)):
            states = project(convolve(states, batch.edge_index))
            states = states if index == 2 else F.leaky_relu(states)
        return encoder.pooling(states, batch.batch, GRAPHS)

    name, variant = "GAT encoder vs PyG GATConv", f"{GRAPHS} graphs, {batch.num_nodes} nodes, 3 layers"
    with torch.no_grad():
        error = _largest(ours() - theirs())
    yield Row(name, f"{variant}, outputs", "fp32", "max abs", error, 1.0, target=EQUAL)
    yield from _timed(name, variant, ours, theirs, [encoder, convolutions], repeats, GAT_SPEED)


def _hgat(repeats: int) -> Iterator[Row]:
    examples, each, hidden, relations, roots, leaves = 8, 12, 512, 30, 128, 7
    hgat = HGAT(hidden, relations, relation_dropout=0.0)
    heads = torch.stack([torch.randperm(roots - 3)[:each] for _ in range(examples)]).flatten()
    count = examples * each
    triples = Triples.from_spans(
        torch.arange(examples).repeat_interleave(each),
        torch.randint(1, relations, (count,)),
        heads,
        torch.randint(1, 4, (count,)),
        roots + heads * leaves,
        torch.randint(1, 5, (count,)),
    )
    x = torch.randn(examples, roots * (leaves + 1), hidden)

    def ours() -> Tensor:
        return hgat.embed(x, hgat.prepare(triples))

    def loop() -> Tensor:
        return fusion_by_loop(hgat, x, triples)

    name, variant = "H-GAT vs loop over triples", f"{each} triples × {examples}, hidden {hidden}"
    with torch.no_grad():
        error = _largest(ours() - loop())
    yield Row(name, f"{variant}, outputs", "fp32", "max abs", error, 1.0, target=EQUAL)
    yield from _timed(name, variant, ours, loop, [hgat], repeats, HGAT_SPEED)


def _decay(repeats: int) -> Iterator[Row]:
    batch, heads, length, farthest = 2, 8, 512, 129
    decay = DistanceDecay(heads, farthest)
    distances = torch.randint(0, farthest + 1, (batch, length, length))

    def ours() -> Tensor:
        return decay.prepare(distances).factor

    def recomputed() -> Tensor:
        sp = (distances + 1).float()[:, None]
        return decay.base ** F.gelu(sp.sqrt() - decay.p[:, None, None])

    name, variant = "decay table vs recomputing", f"B={batch} H={heads} L={length}"
    with torch.no_grad():
        error = _largest(ours() - recomputed())
    yield Row(name, f"{variant}, factors", "fp32", "max abs", error, 1.0, target=EQUAL)
    yield from _timed(name, variant, ours, recomputed, [decay], repeats, None)
