"""Every path against the NumPy oracle: outputs, maps and gradients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.attention.cases import CASES, Case, arguments, operands, tensors
from weft.attention import attend, oracle
from weft.attention.chunked import chunked
from weft.attention.problem import check

TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-5}


def run(case: Case, path: str, dtype: torch.dtype, chunk_elements: int | None = None):
    x = operands(case)
    t = tensors(x, dtype)
    if chunk_elements is None:
        output, _ = attend(**arguments(x, t), path=path)
    else:
        a = arguments(x, t)
        problem = check(a["query"], a["key"], a["value"], None, a["mask"], a["terms"], 0.0, None)
        output = chunked(problem, chunk_elements)
    weight = np.random.default_rng(1).standard_normal(output.shape)
    output.backward(torch.tensor(weight, dtype=dtype))
    return x, t, output, weight


def compare(case: Case, path: str, dtype: torch.dtype, chunk_elements: int | None = None) -> None:
    x, t, output, weight = run(case, path, dtype, chunk_elements)
    bound = TOLERANCE[dtype]
    np.testing.assert_allclose(output.detach().numpy(), oracle.forward(x).output, rtol=0, atol=bound)
    expected = oracle.gradients(x, weight)
    assert set(t) == set(expected)
    for name, gradient in expected.items():
        np.testing.assert_allclose(t[name].grad.numpy(), gradient, rtol=0, atol=bound, err_msg=name)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_reference_equals_the_oracle(case, dtype):
    compare(case, "reference", dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_chunked_equals_the_oracle(case, dtype):
    compare(case, "chunked", dtype)


# An entry has 3 · 7 · (7 to 10) scores: less room recomputes its maps, more keeps them.
@pytest.mark.parametrize("chunk_elements", [1, 7, 30, 200, 300])
@pytest.mark.parametrize("case", CASES[::7], ids=str)
def test_chunked_does_not_depend_on_the_chunks(case, chunk_elements):
    compare(case, "chunked", torch.float64, chunk_elements)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_recomputed_maps_equal_the_oracle(case, dtype):
    compare(case, "chunked", dtype, 100)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("case", [c for c in CASES if c.gate is None and c.decay != "scores"], ids=str)
def test_sdpa_equals_the_oracle(case, dtype):
    compare(case, "sdpa", dtype)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["fp64", "fp32"])
@pytest.mark.parametrize("case", [c for c in CASES if c.prefix and not c.gate and not c.decay], ids=str)
def test_a_merged_prefix_equals_the_oracle(case, dtype):
    compare(case, "merged", dtype)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_maps_equal_the_oracle(case):
    x = operands(case)
    _, maps = attend(**arguments(x, tensors(x, torch.float64)), need_maps=True)
    expected = oracle.forward(x)
    np.testing.assert_allclose(maps.weights.detach(), expected.weights, rtol=0, atol=1e-12)
    assert (maps.quasi is None) == (expected.quasi is None)
    if expected.quasi is not None:
        np.testing.assert_allclose(maps.quasi.detach(), expected.quasi, rtol=0, atol=1e-12)
        gate = np.broadcast_to(maps.gate.detach().numpy(), expected.gate.shape)
        np.testing.assert_allclose(gate, expected.gate, rtol=0, atol=1e-12)


@pytest.mark.parametrize("path", ["chunked", "sdpa", "reference"])
@pytest.mark.parametrize("masking", ["none", "padding", "empty_row"])
def test_the_prefix_map_is_the_prefix_part_of_the_weights(path, masking):
    x = operands(Case(prefix=3, masking=masking))
    _, maps = attend(**arguments(x, tensors(x, torch.float64)), path=path, need_maps="prefix")
    expected = oracle.forward(x).weights[..., :3].sum(-1)
    np.testing.assert_allclose(maps.prefix.detach(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("case", [Case(), Case(decay="scores"), Case(decay="weights", gate="pair")], ids=str)
@pytest.mark.parametrize("path", ["reference", "chunked"])
def test_a_row_that_sees_no_key_is_zero_and_passes_no_gradient(case, path):
    _, t, output, _ = run(replace(case, masking="empty_row"), path, torch.float64)
    assert torch.all(output[-1] == 0)
    assert torch.all(output[0, :, 2] == 0)
    for name in ("query", "key", "value"):
        assert torch.all(t[name].grad[-1] == 0), name
    assert torch.all(t["query"].grad[0, :, 2] == 0)


def test_sdpa_row_that_sees_no_key_is_zero_and_passes_no_gradient():
    _, t, output, _ = run(Case(masking="empty_row"), "sdpa", torch.float32)
    assert torch.all(output[-1] == 0)
    assert torch.all(t["value"].grad[-1] == 0)
    assert all(torch.isfinite(tensor.grad).all() for tensor in t.values())


def test_the_oracle_gradients_equal_finite_differences():
    """The oracle itself is checked without torch, on the case that holds every term."""
    x = operands(Case(2, "scores", "pair", "padding"), shape=(1, 2, 4, 3))
    weight = np.random.default_rng(3).standard_normal(x.query.shape)
    for name, gradient in oracle.gradients(x, weight).items():
        direction = np.random.default_rng(4).standard_normal(gradient.shape)
        step = 1e-6
        ahead = oracle.forward(replace(x, **{name: getattr(x, name) + step * direction})).output
        behind = oracle.forward(replace(x, **{name: getattr(x, name) - step * direction})).output
        slope = ((ahead - behind) * weight).sum() / (2 * step)
        assert abs(slope - (gradient * direction).sum()) < 1e-6, name
