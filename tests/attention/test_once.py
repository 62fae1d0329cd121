"""Second derivatives: right where there are any, refused where there are none."""

from __future__ import annotations

import pytest
import torch

from weft.attention import Decay, Prefix, Terms, attend
from weft.errors import ConfigError


def gradient(path: str, steer: float | torch.Tensor = 1.0) -> torch.Tensor:
    """Of the output's weighted sum by the query, with its graph."""
    draw = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 2, 5, 4, generator=draw, requires_grad=True) for _ in range(3))
    prefix = Prefix(*(torch.randn(2, 2, 1, 4, generator=draw) for _ in range(2)))
    output, _ = attend(query, key, value, terms=Terms(prefix), path=path)
    return torch.autograd.grad((output * steer).sum(), query, create_graph=True)[0]


@pytest.mark.parametrize("path", ["chunked", "merged"])
@pytest.mark.parametrize("learned", [False, True], ids=["linear loss", "learned loss"])
def test_a_path_without_second_derivatives_refuses_them(path, learned):
    steer = torch.ones(4, requires_grad=learned)
    found = gradient(path, steer)
    torch.testing.assert_close(found, gradient("reference", steer))
    with pytest.raises(ConfigError, match=f"the {path} path has no second derivatives .*'reference'"):
        found.square().sum().backward()


def test_the_reference_path_has_them():
    draw = torch.Generator().manual_seed(0)
    operands = [
        torch.randn(1, 1, 3, 2, generator=draw, dtype=torch.float64, requires_grad=True) for _ in range(3)
    ]
    assert torch.autograd.gradgradcheck(lambda *three: attend(*three, path="reference")[0], operands)


@pytest.mark.parametrize("name", ["key", "value", "prefix key", "factor"])
def test_in_double_precision_auto_has_them_whatever_is_trained(name):
    draw = torch.Generator().manual_seed(0)
    t = {
        name: torch.rand(1, 1, 4, 4, generator=draw, dtype=torch.float64)
        for name in ("query", "key", "value", "prefix key", "factor")
    }
    leaf = t[name].requires_grad_()
    terms = Terms(Prefix(t["prefix key"], t["value"]), Decay(t["factor"], "scores"))
    output, _ = attend(t["query"], t["key"], t["value"], terms=terms)
    torch.autograd.grad(output.square().sum(), leaf, create_graph=True)[0].square().sum().backward()
    assert torch.isfinite(leaf.grad).all()
