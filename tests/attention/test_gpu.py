"""Parity of every path on a CUDA device; skipped where there is none."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.attention.cases import CASES, Case, arguments, operands, tensors
from weft.attention import attend, oracle

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("path", ["auto", "chunked"])
def test_cuda_equals_the_oracle(case: Case, path: str):
    x = operands(case)
    t = tensors(x, torch.float32, device="cuda")
    output, _ = attend(**arguments(x, t), path=path)
    weight = np.random.default_rng(1).standard_normal(output.shape)
    output.backward(torch.tensor(weight, dtype=torch.float32, device="cuda"))
    np.testing.assert_allclose(output.detach().cpu(), oracle.forward(x).output, rtol=0, atol=2e-5)
    for name, gradient in oracle.gradients(x, weight).items():
        np.testing.assert_allclose(t[name].grad.cpu(), gradient, rtol=0, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("case", [c for c in CASES if c.gate is None][::3], ids=str)
def test_flex_equals_the_oracle(case: Case):
    x = operands(case, shape=(2, 2, 32, 16))
    t = tensors(x, torch.float32, device="cuda")
    output, _ = attend(**arguments(x, t), path="flex")
    weight = np.random.default_rng(1).standard_normal(output.shape)
    output.backward(torch.tensor(weight, dtype=torch.float32, device="cuda"))
    np.testing.assert_allclose(output.detach().cpu(), oracle.forward(x).output, rtol=0, atol=5e-3)
    for name, gradient in oracle.gradients(x, weight).items():
        np.testing.assert_allclose(t[name].grad.cpu(), gradient, rtol=0, atol=2e-2, err_msg=name)
