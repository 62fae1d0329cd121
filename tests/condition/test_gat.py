"""Graph attention against its equations, against PyG, and under relabelling."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from weft.condition import AttentionPooling, GATEncoder, GATLayer, IncomingEdges, segment_softmax
from weft.errors import ConfigError, DtypeError, GraphError, InputError, ShapeError

NODES, INPUT, WIDTH, HEADS, TYPES = 9, 5, 3, 2, 3


def random_graph(nodes: int, num_edges: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Distinct edges without loops, and their types; nodes from ``nodes - 2`` on stay isolated."""
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.cartesian_prod(torch.arange(nodes - 2), torch.arange(nodes - 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    chosen = torch.randperm(len(pairs), generator=generator)[:num_edges]
    return pairs[chosen].t().contiguous(), torch.randint(0, TYPES, (num_edges,), generator=generator)


def layer_by_loops(
    layer: GATLayer, x: torch.Tensor, edge_index: torch.Tensor, edge_type=None
) -> torch.Tensor:
    """e_ij, α_ij and x'_i of the docstring, one node and one head at a time."""
    values = (x @ layer.linear.weight.t()).view(-1, layer.heads, layer.head_dim)
    rows = []
    for node in range(len(x)):
        incoming = (edge_index[1] == node).nonzero().flatten().tolist()
        heads = []
        for head in range(layer.heads):
            scores = []
            for edge in incoming:
                source = edge_index[0, edge]
                score = layer.attention_target[head] @ values[node, head]
                score = score + layer.attention_source[head] @ values[source, head]
                if edge_type is not None:
                    score = score + layer.type_score[head, edge_type[edge]]
                scores.append(F.leaky_relu(score, 0.2))
            out = values.new_zeros(layer.head_dim)
            if scores:
                for weight, edge in zip(torch.stack(scores).softmax(0), incoming, strict=True):
                    out = out + weight * values[edge_index[0, edge], head]
            heads.append(out)
        rows.append(torch.cat(heads))
    out = torch.stack(rows)
    return out if layer.bias is None else out + layer.bias


def typed_layer(seed: int = 0) -> GATLayer:
    torch.manual_seed(seed)
    layer = GATLayer(INPUT, WIDTH, HEADS, num_edge_types=TYPES).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


def test_segment_softmax_is_a_softmax_per_segment() -> None:
    scores = torch.randn(2, 7, dtype=torch.float64) * 300  # a maximum for all segments would underflow
    segment = torch.tensor([0, 3, 0, 1, 3, 3, 1])
    weights = segment_softmax(scores, segment, 5)
    for number in range(5):
        inside = segment == number
        torch.testing.assert_close(weights[:, inside], scores[:, inside].softmax(-1))
    assert torch.autograd.gradcheck(
        lambda s: segment_softmax(s, segment, 5), torch.randn(2, 7, dtype=torch.float64, requires_grad=True)
    )


def test_segment_softmax_never_computes_in_half_precision() -> None:
    assert segment_softmax(
        torch.randn(3, dtype=torch.bfloat16), torch.zeros(3, dtype=torch.int64), 1
    ).dtype == (torch.float32)


@pytest.mark.parametrize("typed", [True, False])
def test_layer_equals_its_equations(typed: bool) -> None:
    edge_index, edge_type = random_graph(NODES, 20)
    layer = typed_layer() if typed else GATLayer(INPUT, WIDTH, HEADS).double()
    x = torch.randn(NODES, INPUT, dtype=torch.float64)
    edges = IncomingEdges.sort(edge_index, NODES, edge_type if typed else None)
    expected = layer_by_loops(layer, x, edge_index, edge_type if typed else None)
    torch.testing.assert_close(layer(x, edges), expected, rtol=0, atol=1e-12)


def test_layer_gradients() -> None:
    edge_index, edge_type = random_graph(6, 9)
    layer = typed_layer()
    edges = IncomingEdges.sort(edge_index, 6, edge_type)
    names = [name for name, _ in layer.named_parameters()]

    def call(x: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x, edges))

    x = torch.randn(6, INPUT, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(call, (x, *layer.parameters()))


def test_isolated_nodes_and_no_edges_at_all_give_the_bias() -> None:
    layer = typed_layer()
    none = IncomingEdges.sort(torch.zeros(2, 0, dtype=torch.int64), 3, torch.zeros(0, dtype=torch.int64))
    out = layer(torch.randn(3, INPUT, dtype=torch.float64), none)
    assert layer.bias is not None
    torch.testing.assert_close(out, layer.bias.expand(3, -1))
    out.sum().backward()
    assert layer.linear.weight.grad is not None
    assert torch.isfinite(layer.linear.weight.grad).all()


def pyg_twin(layer: GATLayer, add_self_loops: bool, num_types: int | None = None) -> nn.Module:
    geometric = pytest.importorskip("torch_geometric.nn", reason="PyG is the oracle: pip install '.[dev]'")
    twin = geometric.GATConv(
        layer.linear.in_features,
        layer.head_dim,
        heads=layer.heads,
        add_self_loops=add_self_loops,
        edge_dim=num_types,
        bias=layer.bias is not None,
    ).to(layer.linear.weight.dtype)
    with torch.no_grad():
        twin.lin.weight.copy_(layer.linear.weight)
        twin.att_src.copy_(layer.attention_source[None])
        twin.att_dst.copy_(layer.attention_target[None])
        if layer.bias is not None:
            twin.bias.copy_(layer.bias)
        if num_types is not None:
            # One-hot features, an identity per head and the type's scores as attention: b_type exactly.
            twin.lin_edge.weight.copy_(
                torch.eye(num_types).repeat(layer.heads, 1)[: layer.heads * layer.head_dim]
            )
            twin.att_edge.copy_(layer.type_score[None])
    return twin


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("typed", [True, False])
def test_layer_equals_pyg(typed: bool, dtype: torch.dtype, bound: float) -> None:
    edge_index, edge_type = random_graph(40, 150)
    torch.manual_seed(1)
    # Width = number of types lets PyG's edge projection be the identity.
    layer = GATLayer(8, TYPES, 4, num_edge_types=TYPES if typed else None).to(dtype)
    if layer.type_score is not None:
        nn.init.normal_(layer.type_score)
    twin = pyg_twin(layer, add_self_loops=False, num_types=TYPES if typed else None)
    x, weight = torch.randn(40, 8, dtype=dtype), torch.randn(40, 4 * TYPES, dtype=dtype)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()

    out = layer(ours, IncomingEdges.sort(edge_index, 40, edge_type if typed else None))
    one_hot = F.one_hot(edge_type, TYPES).to(dtype) if typed else None
    expected = twin(theirs, edge_index, edge_attr=one_hot)
    torch.testing.assert_close(out, expected, rtol=bound, atol=bound)
    (out * weight).sum().backward()
    (expected * weight).sum().backward()
    pairs = [(ours.grad, theirs.grad), (layer.linear.weight.grad, twin.lin.weight.grad)]
    pairs += [
        (layer.attention_source.grad, twin.att_src.grad[0]),
        (layer.attention_target.grad, twin.att_dst.grad[0]),
    ]
    if layer.type_score is not None:
        pairs.append((layer.type_score.grad, twin.att_edge.grad[0]))
    for mine, oracle in pairs:
        assert mine is not None
        torch.testing.assert_close(mine, oracle, rtol=bound, atol=bound * 10)


def test_encoder_equals_an_assembly_of_pyg_parts() -> None:
    edge_index, _ = random_graph(NODES, 20)
    edge_index = torch.cat([edge_index, torch.tensor([[2], [2]])], dim=1)  # a loop that is there already
    batch = torch.tensor([0] * 7 + [1] * 2)
    torch.manual_seed(2)
    encoder = GATEncoder(INPUT, 8, 6, num_layers=2, heads=2).double().eval()
    x = torch.randn(NODES, INPUT, dtype=torch.float64)
    states = x
    for index, (layer, project) in enumerate(zip(encoder.layers, encoder.projections, strict=True)):
        states = project(pyg_twin(layer, add_self_loops=True)(states, edge_index))
        states = F.leaky_relu(states) if index == 0 else states
    expected = []
    for graph in range(2):
        members = states[batch == graph]
        expected.append(encoder.pooling.score(members).softmax(0).t() @ encoder.pooling.value(members))
    torch.testing.assert_close(encoder(x, edge_index, batch), torch.cat(expected), rtol=0, atol=1e-12)


def test_pooling_weights_are_a_distribution_per_graph() -> None:
    pooling = AttentionPooling(4, 3).double()
    x, batch = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 1, 0, 2, 1, 1])
    weights = pooling.weights(x, batch, 3)
    totals = torch.zeros(3, dtype=torch.float64).index_add(0, batch, weights)
    torch.testing.assert_close(totals, torch.ones(3, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda x: pooling(x, batch, 3), x.requires_grad_())


def typed_encoder(**changes) -> GATEncoder:
    torch.manual_seed(3)
    encoder = GATEncoder(
        INPUT, 8, 4, **({"num_layers": 2, "heads": 2, "num_edge_types": TYPES} | changes)
    ).double()
    for layer in encoder.layers:
        nn.init.normal_(layer.type_score)
    return encoder.eval()


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_relabelling_nodes_and_reordering_edges_change_nothing(seed: int) -> None:
    encoder = typed_encoder()
    edge_index, edge_type = random_graph(NODES, 15, seed)
    torch.manual_seed(seed)
    x, batch = torch.randn(NODES, INPUT, dtype=torch.float64), torch.zeros(NODES, dtype=torch.int64)
    order, edge_order = torch.randperm(NODES), torch.randperm(15)
    place = torch.argsort(order)  # node n moves to place[n]
    expected = encoder(x, edge_index, batch, edge_type)
    moved = encoder(x[order], place[edge_index][:, edge_order], batch, edge_type[edge_order])
    torch.testing.assert_close(moved, expected, rtol=0, atol=1e-12)


def test_graphs_do_not_touch_each_other_and_their_order_does_not_matter() -> None:
    encoder = typed_encoder()
    sizes, parts = [3, 9, 1, 5], []
    for seed, size in enumerate(sizes):
        graph = random_graph(size, 4, seed) if size > 3 else (torch.zeros(2, 0).long(), torch.zeros(0).long())
        parts.append((torch.randn(size, INPUT, dtype=torch.float64), *graph))

    def together(order: list[int]) -> torch.Tensor:
        starts = [sum(sizes[i] for i in order[:k]) for k in range(len(order))]
        return encoder(
            torch.cat([parts[i][0] for i in order]),
            torch.cat([parts[i][1] + start for i, start in zip(order, starts, strict=True)], dim=1),
            torch.cat([torch.full((sizes[i],), k) for k, i in enumerate(order)]),
            torch.cat([parts[i][2] for i in order]),
        )

    alone = torch.cat([together([i]) for i in range(4)])
    torch.testing.assert_close(together([0, 1, 2, 3]), alone, rtol=0, atol=1e-12)
    torch.testing.assert_close(together([2, 0, 3, 1]), alone[[2, 0, 3, 1]], rtol=0, atol=1e-12)


def test_nodes_of_a_batch_may_come_in_any_order() -> None:
    encoder = typed_encoder()
    x = torch.randn(4, INPUT, dtype=torch.float64)
    edge_index, edge_type = torch.tensor([[0, 1], [2, 3]]), torch.tensor([0, 2])
    mixed = encoder(x, edge_index, torch.tensor([0, 1, 0, 1]), edge_type)
    order = torch.tensor([0, 2, 1, 3])
    sorted_ = encoder(x[order], torch.tensor([[0, 2], [1, 3]]), torch.tensor([0, 0, 1, 1]), edge_type)
    torch.testing.assert_close(mixed, sorted_, rtol=0, atol=1e-12)


def test_direction_and_type_of_an_edge_are_seen() -> None:
    encoder = typed_encoder()
    x, batch = torch.randn(3, INPUT, dtype=torch.float64), torch.zeros(3, dtype=torch.int64)
    edge_index, types = torch.tensor([[0, 0], [1, 2]]), torch.tensor([0, 1])
    out = encoder(x, edge_index, batch, types)
    assert not torch.allclose(out, encoder(x, edge_index.flip(0), batch, types))
    assert not torch.allclose(out, encoder(x, edge_index, batch, torch.tensor([2, 1])))


@pytest.mark.parametrize("training", [True, False])
def test_every_parameter_gets_a_gradient(training: bool) -> None:
    encoder = typed_encoder().train(training)
    edge_index, edge_type = random_graph(NODES, 20)
    x = torch.randn(NODES, INPUT, dtype=torch.float64, requires_grad=True)
    out = encoder(x, edge_index, torch.tensor([0] * 7 + [1] * 2), edge_type)
    out.square().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name
    assert x.grad is not None
    assert x.grad.abs().sum(dim=1).min() > 0 or training  # dropout may cut a single node off


def test_dropout_acts_in_training_only() -> None:
    encoder = typed_encoder(dropout=0.5)
    arguments = (torch.randn(2, INPUT, dtype=torch.float64), torch.tensor([[0], [1]]), torch.zeros(2).long())
    types = torch.zeros(1).long()
    assert torch.equal(encoder(*arguments, types), encoder(*arguments, types))
    encoder.train()
    assert not torch.equal(encoder(*arguments, types), encoder(*arguments, types))


def test_encoder_runs_under_bf16_autocast() -> None:
    encoder = GATEncoder(INPUT, 8, 4)
    edge_index, _ = random_graph(NODES, 20)
    arguments = (torch.randn(NODES, INPUT), edge_index, torch.zeros(NODES).long())
    exact = encoder.eval()(*arguments)
    with torch.autocast("cpu", torch.bfloat16):
        out = encoder(*arguments)
    out.float().sum().backward()
    torch.testing.assert_close(out.float(), exact, rtol=0.1, atol=0.1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_dim": 10}, "hidden_dim is 10 and heads is 4"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"input_dim": 0}, "input_dim is 0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"num_edge_types": 0}, "num_edge_types is 0"),
    ],
)
def test_bad_configuration_names_field_and_rule(changes: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        GATEncoder(**({"input_dim": 4, "hidden_dim": 8, "output_dim": 4} | changes))


def long(*values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"x": torch.ones(2, 4)}, ShapeError, r"x has shape \(2, 4\); it must be \(num_nodes, 5\)"),
        ({"edge_index": long([0, 1], [1, 2])}, GraphError, "edge 1 goes from node 1 to node 2"),
        ({"edge_index": torch.zeros(2, 2)}, DtypeError, "edge_index is torch.float32"),
        ({"edge_type": long(0, 3)}, GraphError, "edge 1 has type 3; types are 0 to 2"),
        ({"edge_type": None}, InputError, "no edge_type for an encoder built with edge types"),
        ({"batch": long()}, GraphError, "empty batch"),
        ({"batch": long(0, 2)}, GraphError, "graph 1 has no nodes"),
        ({"num_graphs": 2}, GraphError, "graph 1 has no nodes"),
        ({"batch": long(0, 0, 0)}, ShapeError, r"\(3,\).*2 nodes"),
    ],
)
def test_bad_input_is_one_clear_error(changes: dict, error: type, words: str) -> None:
    arguments = {
        "x": torch.ones(2, INPUT, dtype=torch.float64),
        "edge_index": long([0, 1], [1, 0]),
        "batch": long(0, 0),
        "edge_type": long(0, 1),
    }
    with pytest.raises(error, match=words):
        typed_encoder()(**(arguments | changes))


def test_types_for_an_untyped_encoder_are_refused() -> None:
    encoder = GATEncoder(INPUT, 8, 4)
    with pytest.raises(InputError, match="edge_type for an encoder built without edge types"):
        encoder(torch.ones(1, INPUT), long([0], [0]), long(0), long(0))


def test_pooling_of_many_nodes_goes_on_growing_in_half_precision() -> None:
    # Parts of 1/3000 vanish beside a sum of .125 in bfloat16, in whose precision a GPU adds.
    pooling = AttentionPooling(4, 3).bfloat16()
    added: list[torch.dtype] = []

    class Adds(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), options=None):
            if function is torch.Tensor.index_add:
                added.append(arguments[-1].dtype)
            return function(*arguments, **(options or {}))

    x = torch.ones(3000, 4, dtype=torch.bfloat16)
    with Adds():
        pooled = pooling(x, torch.zeros(3000, dtype=torch.int64), 1)
    assert set(added) == {torch.float32}
    assert pooled.dtype == torch.bfloat16
    torch.testing.assert_close(pooled, pooling.value(x[:1]), rtol=0.02, atol=0.02)
