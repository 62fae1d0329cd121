"""The model module contract, statement by statement: the graph encoder and the prefix attention.

Deviations, each with its reason in the docstring of the class: boolean masks instead of -1e9,
``graph_to_v`` starting at zero, weights that can be declined, optional edge types.
"""

import inspect

import pytest
import torch
from torch import nn

from weft.condition import GATEncoder
from weft.documents.graph_prefix import KVPrefixAttention


def dummy_graphs(*sizes: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Chains with a back edge from the last node, batched: x of 768, edge_index, batch."""
    torch.manual_seed(0)
    edges, start = [torch.zeros(2, 0, dtype=torch.int64)], 0
    for size in sizes:
        chain = torch.arange(start, start + size)
        edges.append(torch.stack([chain, chain.roll(-1)]) if size > 1 else edges[0])
        start += size
    batch = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    return torch.randn(start, 768), torch.cat(edges, dim=1), batch


def test_gnn_forward() -> None:
    """Pass a dummy graph through the GNN: the output is (batch, 256)."""
    encoder = GATEncoder(input_dim=768, hidden_dim=256, output_dim=256)
    assert encoder(*dummy_graphs(20)).shape == (1, 256)
    assert encoder(*dummy_graphs(20, 7)).shape == (2, 256)


def test_gnn_varying_sizes() -> None:
    """Graphs of different node counts, one node and no edges included, alone or together."""
    encoder = GATEncoder(input_dim=768, hidden_dim=64, output_dim=32).eval()
    sizes = (1, 2, 5, 50, 1, 100)
    x, edge_index, batch = dummy_graphs(*sizes)
    out = encoder(x, edge_index, batch)
    assert out.shape == (len(sizes), 32)
    assert torch.isfinite(out).all()
    first = sum(sizes[:3])
    inside = (edge_index[0] >= first) & (edge_index[0] < first + 50)
    alone = encoder(x[first : first + 50], edge_index[:, inside] - first, torch.zeros(50, dtype=torch.int64))
    torch.testing.assert_close(out[3], alone[0], rtol=1e-5, atol=1e-6)


def test_gnn_constructor_and_defaults() -> None:
    parameters = inspect.signature(GATEncoder).parameters
    assert list(parameters)[:6] == ["input_dim", "hidden_dim", "output_dim", "num_layers", "heads", "dropout"]
    assert [parameters[name].default for name in ("num_layers", "heads", "dropout")] == [3, 4, 0.2]
    forward = list(inspect.signature(GATEncoder.forward).parameters)
    assert forward[1:4] == ["x", "edge_index", "batch"]


def test_gnn_has_three_layers_of_four_heads_and_dropout_after_each() -> None:
    encoder = GATEncoder(768, 256, 256)
    assert len(encoder.layers) == 3
    assert [layer.heads for layer in encoder.layers] == [4, 4, 4]
    seen = []
    encoder.dropout.register_forward_hook(lambda *call: seen.append(call))
    encoder(*dummy_graphs(4))
    assert len(seen) == 3
    assert encoder.dropout.p == 0.2


def test_gnn_gradients_exist_for_all_parameters() -> None:
    encoder = GATEncoder(768, 64, 32)
    encoder(*dummy_graphs(20, 20)).square().sum().backward()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 0, name


def dummy_tokens(batch: int = 2, seq_len: int = 10) -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    heads = {
        name: torch.randn(batch, 12, seq_len, 64, requires_grad=True) for name in ("query", "key", "value")
    }
    mask = torch.ones(batch, seq_len, dtype=torch.int64)
    mask[1, 7:] = 0
    return heads | {"graph_summary": torch.randn(batch, 256, requires_grad=True), "attention_mask": mask}


def test_kv_prefix_dimensions() -> None:
    """The context has the query's shape; the weights have one column more than there are tokens."""
    context, weights = KVPrefixAttention()(**dummy_tokens())
    assert context.shape == (2, 12, 10, 64)
    assert weights.shape == (2, 12, 10, 11)


def test_kv_prefix_constructor_and_components() -> None:
    module = KVPrefixAttention()
    assert (module.hidden_size, module.num_heads, module.graph_dim, module.head_dim) == (768, 12, 256, 64)
    for projection in (module.graph_to_k, module.graph_to_v):
        assert isinstance(projection, nn.Linear)
        assert (projection.in_features, projection.out_features) == (256, 768)
    assert module.graph_to_k is not module.graph_to_v
    assert module.split_heads(torch.randn(2, 768)).shape == (2, 12, 1, 64)
    assert module.merge_heads(torch.randn(2, 12, 10, 64)).shape == (2, 10, 768)


def test_kv_prefix_is_position_0_and_always_attended_to() -> None:
    inputs = dummy_tokens()
    _, weights = KVPrefixAttention()(**inputs)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 12, 10))
    assert (weights[..., 0] > 0).all()
    assert (weights[1, :, :, 8:] == 0).all()
    assert (weights[0, :, :, 1:] > 0).all()


def test_kv_prefix_extends_the_sequence_and_leaves_the_tokens_alone() -> None:
    """Concatenation, not addition: token weights keep their proportions whatever the graph says."""
    module = KVPrefixAttention()
    nn.init.normal_(module.graph_to_v.weight)
    inputs = dummy_tokens()
    _, first = module(**inputs)
    _, second = module(**(inputs | {"graph_summary": 5 * inputs["graph_summary"]}))
    assert not torch.allclose(first[..., 0], second[..., 0])
    proportions = [
        weights[..., 1:] / weights[..., 1:].sum(dim=-1, keepdim=True) for weights in (first, second)
    ]
    torch.testing.assert_close(*proportions, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("start", ["as built", "after an update"])
def test_kv_prefix_gradients_flow_to_all_inputs(start: str) -> None:
    module, inputs = KVPrefixAttention(), dummy_tokens()
    if start == "after an update":
        nn.init.normal_(module.graph_to_v.weight, std=0.02)
    module(**inputs)[0].square().sum().backward()
    for name in ("query", "key", "value", "graph_summary"):
        assert inputs[name].grad.abs().max() > 0, name
    for name, parameter in module.named_parameters():
        assert parameter.grad.abs().max() > 0, name


def test_kv_prefix_mask_does_not_overflow_in_half_precision() -> None:
    module = KVPrefixAttention().bfloat16()
    inputs = {
        name: t.detach().bfloat16() if t.is_floating_point() else t for name, t in dummy_tokens().items()
    }
    context, weights = module(**inputs)
    assert torch.isfinite(context).all()
    assert (weights[1, :, :, 8:] == 0).all()
