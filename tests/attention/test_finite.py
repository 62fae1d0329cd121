"""What is not finite is refused, masked or not; a factor of 0 has the gradient that it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.attention.cases import Case, arguments, operands, tensors
from weft.attention import Decay, Prefix, Terms, attend, oracle
from weft.errors import ConfigError, InputError, NonFiniteError

NAMES = {
    "prefix_key": "prefix key",
    "prefix_value": "prefix value",
    "factor": "decay factor",
    "context_query": "quasi query",
    "context_key": "quasi key",
    "lambda_query": "quasi lambda_query",
    "lambda_key": "quasi lambda_key",
    "alpha": "quasi alpha",
}


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
@pytest.mark.parametrize("path", ["auto", "reference", "chunked"])
@pytest.mark.parametrize("name", NAMES)
def test_a_term_that_is_not_finite_is_refused_behind_a_mask_too(name, path, number):
    x = operands(Case(2, "scores", "pair", "padding"))
    t = tensors(x, torch.float32, requires_grad=False)
    t[name][0, ..., -1] = number  # the mask hides the last keys of the first entry
    with pytest.raises(NonFiniteError, match=f"^{NAMES[name]}: NaN or infinity"):
        attend(**arguments(x, t), path=path)


@pytest.mark.parametrize("path", ["reference", "chunked", "sdpa"])
def test_a_factor_below_zero_on_weights_is_refused(path):
    x = operands(Case(decay="weights", masking="padding"))
    t = tensors(x, torch.float32, requires_grad=False)
    t["factor"][0, 0, 0, -1] = -1.0
    with pytest.raises(InputError, match=r"^decay factor: the least is -1; .*'scores'"):
        attend(**arguments(x, t), path=path)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("path", ["reference", "chunked", "sdpa"])
@pytest.mark.parametrize("gate", [None, "pair"])
@pytest.mark.parametrize("prefix", [0, 2])
@pytest.mark.parametrize("masking", ["none", "padding", "empty_row"])
def test_a_factor_of_zero_hides_a_key_and_has_its_gradient(masking, prefix, gate, path, dtype):
    if gate and path == "sdpa":
        pytest.skip("the sdpa path has no quasi term")
    x = operands(Case(prefix, "weights", gate, masking))
    factor = x.factor.copy()
    factor[0, :, 1, ::2] = 0.0
    factor[1, 0] = 0.0  # whole rows
    factor[0, :, :, -1] = 0.0  # where the mask hides
    x = replace(x, factor=factor)
    t = tensors(x, dtype)
    output, _ = attend(**arguments(x, t), path=path)
    weight = np.random.default_rng(1).standard_normal(output.shape)
    output.backward(torch.tensor(weight, dtype=dtype))
    bound = {torch.float64: 1e-10, torch.float32: 2e-5}[dtype]
    np.testing.assert_allclose(output.detach(), oracle.forward(x).output, rtol=bound, atol=bound)
    for name, gradient in oracle.gradients(x, weight).items():
        np.testing.assert_allclose(t[name].grad, gradient, rtol=bound, atol=bound, err_msg=name)


def test_the_oracles_gradient_of_a_factor_of_zero_is_the_slope():
    x = operands(Case(1, "weights"), shape=(1, 1, 3, 2))
    factor = x.factor.copy()
    factor[..., 1] = 0.0
    x = replace(x, factor=factor)
    weight = np.random.default_rng(2).standard_normal(x.query.shape)
    step = np.zeros_like(factor)
    step[..., 1] = 1e-7
    rise = (oracle.forward(replace(x, factor=factor + step)).output - oracle.forward(x).output) * weight
    assert abs(rise.sum() / 1e-7 - oracle.gradients(x, weight)["factor"][..., 1].sum()) < 1e-5


@pytest.mark.parametrize("path", ["reference", "chunked", "sdpa"])
def test_half_precision_has_it_too(path):
    x = operands(Case(0, "weights", None, "padding"))
    found = {}
    for dtype in (torch.bfloat16, torch.float64):
        t = tensors(replace(x, factor=np.where(np.arange(7) == 2, 0.0, x.factor)), dtype)
        attend(**arguments(x, t), path=path)[0].sum().backward()
        found[dtype] = t["factor"].grad.double()
    torch.testing.assert_close(
        found[torch.bfloat16][..., :2], found[torch.float64][..., :2], rtol=0.2, atol=0.1
    )
    assert torch.isfinite(found[torch.bfloat16]).all()


@pytest.mark.parametrize("number", [torch.nan, torch.inf, "1", None])
def test_a_number_of_the_equation_is_a_finite_one(number):
    x = operands(Case(0, None, "pair", "none"))
    q = arguments(x, tensors(x, torch.float32, requires_grad=False))
    for name in ("alpha", "beta", "gamma"):
        with pytest.raises(ConfigError, match=rf"^Quasi.{name} is .*; it must be a finite number"):
            replace(q["terms"].quasi, **{name: number})
    if number is not None:
        with pytest.raises(ConfigError, match=r"^scale is .*; it must be a finite number"):
            attend(**q, scale=number)
    # SDPA takes its number out of a tensor, and no gradient would reach it.
    with pytest.raises(ConfigError, match=r"^scale is a tensor, which would get no gradient"):
        attend(**q, scale=torch.ones((), requires_grad=True))
    assert torch.equal(attend(**q, scale=np.float32(0.5))[0], attend(**q, scale=0.5)[0])


def test_what_is_no_tensor_and_no_term_is_named():
    q = torch.zeros(1, 1, 2, 4)
    masks = {"key_mask": [[True, True]], "mask": True}
    for name, wrong in ({"query": q.numpy(), "key": None, "value": 3.0} | masks).items():
        with pytest.raises(TypeError, match=rf"^{name} is an? \w+; it must be a tensor"):
            attend(**{"query": q, "key": q, "value": q, name: wrong})
    for terms in (Terms(decay=Decay(0.5, "weights")), Terms(prefix=Prefix(q.numpy(), q))):
        with pytest.raises(TypeError, match="it must be a tensor"):
            attend(q, q, q, terms=terms)
    for name in ("prefix", "decay", "quasi"):
        with pytest.raises(ConfigError, match=rf"^Terms.{name} is a Tensor; it must be a {name.title()}"):
            Terms(**{name: q})
    with pytest.raises(ConfigError, match=r"^need_maps is 2"):
        attend(q, q, q, need_maps=2)
    # 1 equals True: it was taken for neither, and gave no maps.
    with pytest.raises(ConfigError, match=r"^need_maps is 1"):
        attend(q, q, q, need_maps=1)
