"""Quasi-attention: both named configurations against the equations of the paper and of the code."""

import math

import pytest
import torch
from torch import Tensor, nn

from weft.attention import attend
from weft.attention.terms import Quasi
from weft.condition import QuasiConfig, QuasiContext, QuasiStructure
from weft.encoder.config import EncoderConfig
from weft.encoder.layer import SelfAttention
from weft.errors import ConfigError, InputError, ShapeError

BATCH, HEADS, SEQ, WIDTH, LAYERS = 2, 2, 4, 3, 3
HIDDEN = HEADS * WIDTH
SIZES = {
    "vocab_size": 5,
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "intermediate_size": 8,
}


def build(name: str, **changes) -> QuasiContext:
    torch.manual_seed(0)
    module = QuasiContext(QuasiConfig.named(name, HIDDEN, HEADS, LAYERS, **changes)).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module.eval()


def inputs() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """hidden, query, key, value, context."""
    torch.manual_seed(1)
    heads = (BATCH, HEADS, SEQ, WIDTH)
    shapes = ((BATCH, SEQ, HIDDEN), heads, heads, heads, (BATCH, HIDDEN))
    return tuple(torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)


def structure(context: Tensor) -> QuasiStructure:
    return QuasiStructure(context, torch.tensor([SEQ, 2]))


def mask() -> Tensor:
    return torch.arange(SEQ) < torch.tensor([[SEQ], [2]])


def by_loops(module: QuasiContext, layer: int, hidden, query, key, value, context) -> Tensor:
    """The equations, one example, head and pair of tokens at a time."""
    config, weights = module.config, module.layers[layer - module.config.first_layer]
    output = torch.zeros_like(query)
    for b in range(BATCH):
        tokens = int(mask()[b].sum())
        alpha = config.alpha / tokens if config.normalised else config.alpha
        mixed = [
            weights.context_layer(torch.cat([context[b], hidden[b, i]])) + context[b] for i in range(SEQ)
        ]
        for h in range(HEADS):
            part = slice(h * WIDTH, (h + 1) * WIDTH)
            c_q = [weights.context_query(c)[part] for c in mixed]
            c_k = [weights.context_key(c)[part] for c in mixed]
            l_q = [
                torch.sigmoid(weights.lambda_query(query[b, h, i]) + weights.lambda_context_query(c_q[i]))
                for i in range(SEQ)
            ]
            l_k = [
                torch.sigmoid(weights.lambda_key(key[b, h, i]) + weights.lambda_context_key(c_k[i]))
                for i in range(SEQ)
            ]
            for i in range(SEQ):
                scores = torch.stack(
                    [query[b, h, i] @ key[b, h, j] / math.sqrt(WIDTH) for j in range(tokens)]
                )
                softmax = scores.softmax(0)
                row = torch.zeros(WIDTH, dtype=torch.float64)
                for j in range(tokens):
                    other = l_k[i] if config.gate == "row" else l_k[j]
                    gate = 1 - (config.beta * l_q[i] + config.gamma * other)
                    quasi = alpha * torch.sigmoid(c_q[i] @ c_k[j] / math.sqrt(WIDTH))
                    row = row + (softmax[j] + gate * quasi) * value[b, h, j]
                output[b, h, i] = row
    return output


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("qacg-official", {}),
        ("qacg-official", {"lambda_bias": False}),
        ("qacg", {}),
        ("qacg", {"gate": "row"}),
        ("qacg", {"alpha": 0.5, "beta": 0.7, "gamma": 1.3}),
    ],
)
def test_attention_equals_the_equations(name: str, changes: dict) -> None:
    module = build(name, **changes)
    hidden, query, key, value, context = inputs()
    terms = module.terms(LAYERS - 1, hidden, query, key, module.prepare(structure(context)))
    output, maps = attend(query, key, value, key_mask=mask(), terms=terms, need_maps=True, path="reference")
    expected = by_loops(module, LAYERS - 1, hidden, query, key, value, context)
    torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)
    assert maps.gate.abs().max() < 1 or changes.get("gamma", 1.0) > 1.0
    sources = [hidden, query, key, value, context]
    ours = torch.autograd.grad(output.square().sum(), sources)
    theirs = torch.autograd.grad(expected.square().sum(), sources)
    for mine, oracle in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, oracle, rtol=1e-9, atol=1e-11)


def test_gradients_of_the_terms() -> None:
    module = build("qacg-official")
    layer = module.layers[0]
    hidden, query, key, _, context = inputs()
    assert torch.autograd.gradcheck(layer, (hidden, context, query, key))


def test_official_configuration_is_the_published_one() -> None:
    config = QuasiConfig.named("qacg-official", 768, 12, 12)
    assert (config.first_layer, config.normalised, config.gate, config.lambda_bias) == (0, False, "row", True)
    module = QuasiContext(QuasiConfig.named("qacg-official", HIDDEN, HEADS, LAYERS))
    linear = HIDDEN * 2 * HIDDEN + HIDDEN + 2 * (HIDDEN * HIDDEN + HIDDEN)
    assert sum(parameter.numel() for parameter in module.parameters()) == LAYERS * (linear + 4 * (WIDTH + 1))


def test_sound_configuration_starts_in_the_upper_layers() -> None:
    config = QuasiConfig.named("qacg", 384, 12, 6)
    assert (config.first_layer, config.normalised, config.gate) == (4, True, "pair")
    module = build("qacg")
    hidden, query, key, _, context = inputs()
    state = module.prepare(structure(context))
    assert [module.terms(layer, hidden, query, key, state).empty for layer in range(LAYERS)] == [
        True,
        True,
        False,
    ]


def test_length_does_not_scale_the_normalised_part() -> None:
    """Repeating a text's tokens leaves a normalised quasi-attention as it is, and doubles the other."""
    hidden, query, key, value, context = inputs()
    for name, growth in (("qacg", 1.0), ("qacg-official", 2.0)):
        module = build(name, first_layer=0)
        parts = []
        for repeats in (1, 2):
            long = [t.repeat_interleave(repeats, dim=-2) for t in (hidden, query, key, value)]
            state = module.prepare(QuasiStructure(context, torch.full((BATCH,), repeats * SEQ)))
            terms = module.terms(0, *long[:3], state)
            plain, _ = attend(*long[1:])
            parts.append((attend(*long[1:], terms=terms)[0] - plain)[:, :, ::repeats])
        torch.testing.assert_close(parts[1], growth * parts[0], rtol=1e-9, atol=1e-11)


def test_training_starts_near_plain_attention_yet_reaches_the_context() -> None:
    torch.manual_seed(2)
    module = QuasiContext(QuasiConfig.named("qacg", HIDDEN, HEADS, LAYERS)).double().eval()
    hidden, query, key, value, context = inputs()
    terms = module.terms(LAYERS - 1, hidden, query, key, module.prepare(structure(context)))
    output, _ = attend(query, key, value, key_mask=mask(), terms=terms)
    plain, _ = attend(query, key, value, key_mask=mask())
    assert (output - plain).norm() < 0.05 * plain.norm()
    output.square().sum().backward()
    assert context.grad is not None
    assert context.grad.abs().min() > 0


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["qacg-official", "qacg"])
def test_every_parameter_gets_a_gradient(name: str, training: bool) -> None:
    module = build(name).train(training)
    hidden, query, key, value, context = inputs()
    state = module.prepare(structure(context))
    total = torch.zeros((), dtype=torch.float64)
    for layer in range(LAYERS):
        terms = module.terms(layer, hidden, query, key, state)
        total = total + attend(query, key, value, key_mask=mask(), terms=terms)[0].square().sum()
    total.backward()
    for parameter_name, parameter in module.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.abs().max() > 0, parameter_name


def test_context_query_and_key_pass_through_dropout_in_training() -> None:
    module = build("qacg-official", dropout=0.5)
    hidden, query, key, _, context = inputs()
    state = module.prepare(structure(context))
    first, second = (module.terms(0, hidden, query, key, state).quasi for _ in range(2))
    assert torch.equal(first.query, second.query)
    module.train()
    dropped = module.terms(0, hidden, query, key, state).quasi
    for after, before in ((dropped.query, first.query), (dropped.key, first.key)):
        zero = after == 0
        assert zero.any()
        torch.testing.assert_close(after[~zero], 2 * before[~zero])


def test_batch_order_changes_nothing() -> None:
    module = build("qacg")
    hidden, query, key, value, context = inputs()
    outputs = []
    for order in (torch.tensor([0, 1]), torch.tensor([1, 0])):
        state = module.prepare(QuasiStructure(context[order], torch.tensor([SEQ, 2])[order]))
        terms = module.terms(LAYERS - 1, hidden[order], query[order], key[order], state)
        output, _ = attend(query[order], key[order], value[order], key_mask=mask()[order], terms=terms)
        outputs.append(output[order])
    torch.testing.assert_close(*outputs, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_size": 0}, "hidden_size is 0"),
        ({"num_heads": 4}, "hidden_size is 6 and num_heads is 4"),
        ({"first_layer": 3}, "first_layer is 3; it must be from 0 to 2"),
        ({"gate": "column"}, "gate is 'column'; it must be 'row' or 'pair'"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"lambda_range": 0.0}, "lambda_range is 0.0; it must be above 0"),
        ({"colour": 1}, "unknown fields.*colour"),
    ],
)
def test_bad_configuration_names_field_and_rule(changes: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        QuasiConfig.named(
            "qacg-official", **({"hidden_size": HIDDEN, "num_heads": HEADS, "num_layers": 3} | changes)
        )


def test_a_layer_beyond_the_last_is_refused() -> None:
    module = build("qacg-official")
    hidden, query, key, _, context = inputs()
    with pytest.raises(ConfigError, match="layer 3 asks for a quasi-attention built for 3 layers"):
        module.terms(3, hidden, query, key, structure(context))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="'qacg-v2'"):
        QuasiConfig.named("qacg-v2", HIDDEN, HEADS, LAYERS)  # type: ignore[arg-type] - what is tested


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (QuasiStructure(torch.zeros(BATCH, 5)), ShapeError, r"\(2, 5\); it must be \(batch, 6\)"),
        (QuasiStructure(torch.zeros(BATCH, HIDDEN)), InputError, "no token counts"),
        (QuasiStructure(torch.zeros(BATCH, HIDDEN), torch.ones(3)), ShapeError, r"\(3,\).*\(2, 6\)"),
        (
            QuasiStructure(torch.zeros(BATCH, HIDDEN), torch.tensor([2, 0])),
            InputError,
            "text 1 has no tokens",
        ),
    ],
)
def test_bad_structure_is_one_clear_error(wrong: QuasiStructure, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        build("qacg").prepare(wrong)


def test_the_official_form_needs_no_counts() -> None:
    context = torch.zeros(BATCH, HIDDEN)
    assert build("qacg-official").prepare(QuasiStructure(context)).context is context


def test_an_open_start_takes_the_layer_s_maps_and_reaches_the_context() -> None:
    """C_Q = W_Q·(h + 2·E_c) + b_Q, λ_A about .76; the gradient at E_c is many times that of the drawn start."""
    torch.manual_seed(3)
    attentions = [SelfAttention(EncoderConfig(**SIZES)).double() for _ in range(LAYERS)]
    module = QuasiContext(QuasiConfig.named("qacg", HIDDEN, HEADS, LAYERS, dropout=0.0)).double()
    hidden, query, key, value, context = inputs()

    def told() -> tuple[Quasi, float]:
        terms = module.terms(LAYERS - 1, hidden, query, key, module.prepare(structure(context)))
        output, _ = attend(query, key, value, key_mask=mask(), terms=terms)
        (gradient,) = torch.autograd.grad(output.square().sum(), context, retain_graph=True)
        return terms.quasi, float(gradient.norm())

    _, drawn = told()
    module.open(attentions)
    quasi, opened = told()
    expected = attentions[-1].query(hidden + 2 * context[:, None]).unflatten(-1, (HEADS, WIDTH))
    torch.testing.assert_close(quasi.query, expected.transpose(1, 2))
    gate = 1 - quasi.lambda_query - quasi.lambda_key
    torch.testing.assert_close(gate, torch.full_like(gate, 0.76), rtol=0, atol=0.05)
    assert opened > 10 * drawn
    with pytest.raises(ShapeError, match="2 layers for a quasi-attention of 3"):
        module.open(attentions[:2])
