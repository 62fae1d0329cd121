"""The prefix of a graph, its control, and the contract's attention."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.attention import Terms, attend
from weft.condition import KVPrefix, Register, Stack
from weft.documents.graph_prefix import KVPrefixAttention
from weft.errors import ConfigError, DtypeError, NonFiniteError, ShapeError

BATCH, HEADS, SEQ, WIDTH, GRAPH, LAYERS = 2, 3, 5, 4, 6, 2
HIDDEN = HEADS * WIDTH


def tokens(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    return tuple(torch.randn(BATCH, HEADS, SEQ, WIDTH, dtype=dtype, requires_grad=True) for _ in range(3))


def summary() -> Tensor:
    return torch.randn(BATCH, GRAPH, dtype=torch.float64, requires_grad=True)


def trained(module: nn.Module) -> nn.Module:
    """The module as after some training: nothing is zero."""
    torch.manual_seed(1)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module.double()


def key_mask() -> Tensor:
    return torch.tensor([[True] * SEQ, [True, True, False, True, False]])


def by_the_contract(
    module: KVPrefixAttention, query, key, value, graph_summary, mask
) -> tuple[Tensor, Tensor]:
    """Steps 1 to 5 of the contract, one after the other."""
    prefix_k = module.graph_to_k(graph_summary).view(BATCH, HEADS, 1, WIDTH)
    prefix_v = module.graph_to_v(graph_summary).view(BATCH, HEADS, 1, WIDTH)
    all_keys, all_values = torch.cat([prefix_k, key], dim=2), torch.cat([prefix_v, value], dim=2)
    extended = torch.cat([torch.ones(BATCH, 1), mask.float()], dim=1)
    scores = query @ all_keys.transpose(-2, -1) / WIDTH**0.5
    weights = F.softmax(scores.masked_fill(extended[:, None, None, :] == 0, -1e9), dim=-1)
    return weights @ all_values, weights


@pytest.mark.parametrize("kind", [torch.bool, torch.int64])
def test_attention_equals_the_contracts_algorithm(kind: torch.dtype) -> None:
    module = trained(KVPrefixAttention(HIDDEN, HEADS, GRAPH))
    arguments = (*tokens(), summary())
    context, weights = module(*arguments, key_mask().to(kind))
    expected, expected_weights = by_the_contract(module, *arguments, key_mask())
    torch.testing.assert_close(context, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(weights, expected_weights, rtol=0, atol=1e-12)
    sources = [*arguments, *module.parameters()]
    ours = torch.autograd.grad(context.square().sum(), sources)
    theirs = torch.autograd.grad(expected.square().sum(), sources)
    for mine, oracle in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, oracle, rtol=1e-10, atol=1e-12)


def test_attention_without_weights_is_the_same_attention() -> None:
    module = trained(KVPrefixAttention(HIDDEN, HEADS, GRAPH))
    arguments = (*tokens(), summary(), key_mask())
    context, weights = module(*arguments, need_weights=False)
    assert weights is None
    torch.testing.assert_close(context, module(*arguments)[0], rtol=0, atol=1e-12)


def test_heads_split_and_merge() -> None:
    module = KVPrefixAttention(HIDDEN, HEADS, GRAPH)
    x = torch.randn(BATCH, HIDDEN)
    split = module.split_heads(x)
    assert split.shape == (BATCH, HEADS, 1, WIDTH)
    assert torch.equal(module.merge_heads(split).squeeze(1), x)


def test_a_text_of_padding_sees_the_graph_alone() -> None:
    module = trained(KVPrefixAttention(HIDDEN, HEADS, GRAPH))
    graph = summary()
    context, weights = module(*tokens(), graph, torch.zeros(BATCH, SEQ, dtype=torch.bool))
    value = module.split_heads(module.graph_to_v(graph))
    torch.testing.assert_close(context, value.expand_as(context), rtol=0, atol=1e-12)
    assert torch.equal(weights[..., 0], torch.ones_like(weights[..., 0]))


@pytest.mark.parametrize("prefix_tokens", [1, 3])
@pytest.mark.parametrize("gated", [False, True])
def test_prefix_has_its_own_projection_in_every_layer(prefix_tokens: int, gated: bool) -> None:
    module = trained(KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS, prefix_tokens, gated=gated))
    query, key, _ = tokens()
    graph = summary()
    state = module.prepare(graph)
    for layer in range(LAYERS):
        prefix = module.terms(layer, query, query, key, state).prefix
        assert prefix is not None
        assert prefix.key.shape == prefix.value.shape == (BATCH, HEADS, prefix_tokens, WIDTH)
        for token in range(prefix_tokens):
            for head in range(HEADS):
                rows = slice(token * HIDDEN + head * WIDTH, token * HIDDEN + (head + 1) * WIDTH)
                projected = (
                    graph @ module.graph_to_k[layer].weight[rows].t() + module.graph_to_k[layer].bias[rows]
                )
                torch.testing.assert_close(prefix.key[:, head, token], projected)
                projected = (
                    graph @ module.graph_to_v[layer].weight[rows].t() + module.graph_to_v[layer].bias[rows]
                )
                gate = module.gate[layer, head] if gated else 1.0
                torch.testing.assert_close(prefix.value[:, head, token], gate * projected)


def test_a_register_has_keys_and_values_of_its_own_in_every_layer() -> None:
    module = trained(Register(HIDDEN, HEADS, LAYERS, 2))
    query, key, _ = tokens()
    for layer in range(LAYERS):
        prefix = module.terms(layer, query, query, key, None).prefix
        assert prefix is not None
        assert torch.equal(prefix.key, torch.stack([module.key[layer]] * BATCH))
        assert torch.equal(prefix.value, torch.stack([module.value[layer]] * BATCH))


@pytest.mark.parametrize(
    "build", [lambda: KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS), lambda: Register(HIDDEN, HEADS, 2)]
)
def test_training_starts_with_values_of_zero(build) -> None:
    module = build().double()
    query, key, value = tokens()
    terms = module.terms(0, query, query, key, module.prepare(summary()))
    output, maps = attend(query, key, value, terms=terms, need_maps=True, path="reference")
    plain, _ = attend(query, key, value)
    share = maps.weights[..., :1]
    torch.testing.assert_close(output, (1 - share) * plain, rtol=0, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "module",
    [
        KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS),
        KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS, 2, gated=True),
        Register(HIDDEN, HEADS, LAYERS, 2),
    ],
    ids=["prefix", "gated", "register"],
)
def test_every_parameter_gets_a_gradient(module, training: bool) -> None:
    """At the very start too, except the gate and the keys' share in the summary's gradient: values are zero."""
    module = module.double().train(training)
    query, key, value = tokens()
    for start in (True, False):
        if not start:
            trained(module)
        module.zero_grad()
        graph = summary()
        state = module.prepare(graph)
        total = torch.zeros((), dtype=torch.float64)
        for layer in range(LAYERS):
            total = (
                total
                + attend(query, key, value, terms=module.terms(layer, query, query, key, state))[0]
                .pow(2)
                .sum()
            )
        total.backward()
        for name, parameter in module.named_parameters():
            if start and name == "gate":
                continue
            assert parameter.grad is not None, name
            assert parameter.grad.abs().max() > 0, name
        if isinstance(module, KVPrefix):
            assert graph.grad is not None
            assert graph.grad.abs().min() > 0


def test_the_register_ignores_the_structure() -> None:
    module = trained(Register(HIDDEN, HEADS, LAYERS))
    query, key, _ = tokens()
    first = module.terms(1, query, query, key, module.prepare(summary())).prefix
    second = module.terms(1, query, query, key, module.prepare(None)).prefix
    assert first is not None
    assert second is not None
    assert torch.equal(first.key, second.key)
    assert torch.equal(first.value[0], first.value[1])


@pytest.mark.parametrize("module", [KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS), Register(HIDDEN, HEADS, LAYERS)])
def test_a_layer_beyond_the_last_is_refused(module) -> None:
    query = torch.zeros(BATCH, HEADS, SEQ, WIDTH)
    with pytest.raises(ConfigError, match="layer 2 asks for a prefix built for 2 layers"):
        module.terms(2, query, query, query, module.prepare(torch.zeros(BATCH, GRAPH)))


def test_prefixes_of_a_stack_concatenate() -> None:
    stack = Stack(
        [trained(KVPrefix(GRAPH, HIDDEN, HEADS, LAYERS, 2)), trained(Register(HIDDEN, HEADS, LAYERS))]
    )
    query, key, _ = tokens()
    terms = stack.terms(0, query, query, key, stack.prepare([summary(), None]))
    assert isinstance(terms, Terms)
    assert terms.prefix is not None
    assert terms.prefix.key.shape == (BATCH, HEADS, 3, WIDTH)


def test_batch_order_changes_nothing() -> None:
    module = trained(KVPrefixAttention(HIDDEN, HEADS, GRAPH))
    arguments = (*tokens(), summary(), key_mask())
    context, _ = module(*arguments)
    swapped, _ = module(*(argument.flip(0) for argument in arguments))
    torch.testing.assert_close(swapped.flip(0), context, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: KVPrefix(GRAPH, 10, 3, 1), "hidden_size is 10 and num_heads is 3"),
        (lambda: KVPrefix(GRAPH, HIDDEN, HEADS, 0), "num_layers is 0"),
        (lambda: KVPrefix(GRAPH, HIDDEN, HEADS, 1, 0), "num_prefix_tokens is 0"),
        (lambda: KVPrefixAttention(hidden_size=10, num_heads=3), "num_heads must divide hidden_size"),
        (lambda: KVPrefixAttention(graph_dim=0), "graph_dim is 0"),
        (lambda: Register(10, 3, 1), "num_heads must divide hidden_size"),
    ],
)
def test_bad_configuration_names_field_and_rule(build, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build()


@pytest.mark.parametrize(
    ("place", "wrong", "error", "words"),
    [
        (3, torch.zeros(BATCH, GRAPH + 1), ShapeError, r"\(2, 7\); it must be \(batch, 6\)"),
        (3, torch.full((BATCH, GRAPH), torch.nan, dtype=torch.float64), NonFiniteError, "graph summary"),
        (3, torch.zeros(BATCH + 1, GRAPH, dtype=torch.float64), ShapeError, r"\(3, 3, 1, 4\)"),
        (4, torch.full((BATCH, SEQ), -10000.0), DtypeError, "not of ones and zeros only"),
        (4, torch.ones(BATCH, SEQ + 1, dtype=torch.bool), ShapeError, r"\(2, 6\)"),
        (1, torch.zeros(BATCH, HEADS, SEQ, WIDTH + 1, dtype=torch.float64), ShapeError, r"\(2, 3, 5, 5\)"),
    ],
)
def test_bad_input_is_one_clear_error(place: int, wrong: Tensor, error: type, words: str) -> None:
    module = KVPrefixAttention(HIDDEN, HEADS, GRAPH).double()
    arguments = [*tokens(), summary(), key_mask()]
    arguments[place] = wrong
    with pytest.raises(error, match=words):
        module(*arguments)
