"""Decay with distance: the equation entry by entry, its gradient, its limits."""

import math

import pytest
import torch
from torch import nn

from weft.attention import attend
from weft.condition import DistanceDecay
from weft.errors import ConfigError, DtypeError, InputError, ShapeError

HEADS, FARTHEST = 3, 4


def decay(**changes) -> DistanceDecay:
    module = DistanceDecay(**({"num_heads": HEADS, "max_distance": FARTHEST} | changes)).double()
    with torch.no_grad():
        module.p.copy_(torch.tensor([1.0, 0.3, 2.5]))
    return module


def distances(batch: int = 2, seq: int = 5) -> torch.Tensor:
    return torch.randint(-1, FARTHEST + 3, (batch, seq, seq), generator=torch.Generator().manual_seed(0))


def factor(base: float, p: float, distance: int) -> float:
    """base ^ GELU(√(1 + distance) − p) with the exact GELU."""
    x = math.sqrt(1 + distance) - p
    return base ** (x * 0.5 * (1 + math.erf(x / math.sqrt(2))))


@pytest.mark.parametrize("path", ["sdpa", "chunked", "reference"])
def test_a_factor_below_the_least_number_keeps_the_gradient_finite(path: str) -> None:
    module = DistanceDecay(HEADS, 600, base=0.01, mode="weights")
    steps = torch.tensor([[0, 1, 600], [1, 0, 600], [600, 600, 600]])[None]
    query, key, value = (torch.randn(1, HEADS, 3, 4) for _ in range(3))
    state = module.prepare(steps)
    assert (state.factor > 0).all()
    output, _ = attend(query, key, value, terms=module.terms(0, value, query, key, state), path=path)
    # A row of equally far tokens is plain attention.
    torch.testing.assert_close(output[:, :, 2], attend(query, key, value)[0][:, :, 2])
    output.square().sum().backward()
    assert module.p.grad is not None
    assert torch.isfinite(module.p.grad).all()
    assert module.p.grad.abs().min() > 0


@pytest.mark.parametrize("mode", ["scores", "weights"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int16])
def test_factor_equals_its_equation(mode: str, dtype: torch.dtype) -> None:
    module = decay(mode=mode, base=0.7)
    steps, shifts = distances(), module.p.tolist()
    state = module.prepare(steps.to(dtype))
    assert state.mode == mode
    assert state.factor.shape == (2, HEADS, 5, 5)
    for example, head, i, j in torch.cartesian_prod(*map(torch.arange, state.factor.shape)).tolist():
        distance = int(steps[example, i, j])
        distance = FARTHEST if distance == -1 else min(distance, FARTHEST)
        expected = factor(0.7, shifts[head], distance)
        assert state.factor[example, head, i, j].item() == pytest.approx(expected, abs=1e-12)


def test_a_token_sees_itself_undiminished_at_the_start() -> None:
    table = DistanceDecay(HEADS, 129).double().table().detach()
    assert table.shape == (HEADS, 130)
    assert torch.equal(table[:, 0], torch.ones(HEADS, dtype=torch.float64))
    assert (table[:, 1:].diff(dim=1) < 0).all()
    assert table[0, 129].item() == pytest.approx(0.6 ** (math.sqrt(130) - 1), rel=1e-6)


def test_the_factor_may_exceed_one_but_only_slightly() -> None:
    module = DistanceDecay(1, 50).double()
    nn.init.constant_(module.p, 4.0)
    table = module.table()
    assert table.max() > 1.0
    assert table.max() < 0.6**-0.1701


def test_gradient_of_p() -> None:
    module, steps = decay(), distances()

    def call(p: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(_Factor(module), {"decay.p": p}, (steps,))

    assert torch.autograd.gradcheck(call, module.p)


class _Factor(nn.Module):
    def __init__(self, module: DistanceDecay) -> None:
        super().__init__()
        self.decay = module

    def forward(self, steps: torch.Tensor) -> torch.Tensor:
        return self.decay.prepare(steps).factor


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mode", ["scores", "weights"])
def test_every_head_gets_a_gradient_through_attention(mode: str, training: bool) -> None:
    module = decay(mode=mode).train(training)
    query, key, value = (torch.randn(2, HEADS, 5, 4, dtype=torch.float64) for _ in range(3))
    state = module.prepare(distances())
    output = sum(
        attend(query, key, value, terms=module.terms(layer, query, query, key, state))[0] for layer in (0, 1)
    )
    output.square().sum().backward()
    assert module.p.grad is not None
    assert module.p.grad.abs().min() > 0


def test_layers_share_one_factor() -> None:
    module = decay()
    state = module.prepare(distances())
    query = torch.zeros(2, HEADS, 5, 4)
    assert (
        module.terms(0, query, query, query, state).decay is module.terms(7, query, query, query, state).decay
    )


def test_one_graph_for_all_examples() -> None:
    module = decay()
    query, key, value = (torch.randn(3, HEADS, 5, 4, dtype=torch.float64) for _ in range(3))
    one = distances(batch=1)
    outputs = []
    for steps in (one, one.expand(3, -1, -1)):
        terms = module.terms(0, query, query, key, module.prepare(steps))
        outputs.append(attend(query, key, value, terms=terms)[0])
    torch.testing.assert_close(*outputs, rtol=0, atol=1e-12)


def test_relabelling_tokens_relabels_the_factor() -> None:
    module, steps, order = decay(), distances(), torch.tensor([3, 0, 4, 1, 2])
    moved = module.prepare(steps[:, order][:, :, order]).factor
    assert torch.equal(moved, module.prepare(steps).factor[:, :, order][:, :, :, order])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_heads": 0}, "num_heads is 0"),
        ({"max_distance": 0}, "max_distance is 0"),
        ({"base": 1.0}, "base is 1.0; it must be between 0 and 1"),
        ({"base": 0.0}, "base is 0.0"),
        ({"mode": "logits"}, "mode is 'logits'; it must be 'scores' or 'weights'"),
    ],
)
def test_bad_configuration_names_field_and_rule(changes: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        DistanceDecay(**({"num_heads": HEADS, "max_distance": FARTHEST} | changes))


@pytest.mark.parametrize(
    ("steps", "error", "words"),
    [
        (
            torch.zeros(2, 3, 4, dtype=torch.int64),
            ShapeError,
            r"\(2, 3, 4\); they must be \(batch, seq, seq\)",
        ),
        (torch.zeros(3, 3, dtype=torch.int64), ShapeError, r"\(3, 3\)"),
        (torch.full((1, 2, 2), torch.inf), DtypeError, "distances are torch.float32"),
        (torch.zeros(1, 2, 2, dtype=torch.bool), DtypeError, "distances are torch.bool"),
        (torch.full((1, 2, 2), -2), InputError, "a distance of -2"),
    ],
)
def test_bad_distances_are_one_clear_error(steps: torch.Tensor, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        decay().prepare(steps)
