"""What FlexAttention is told, checked on the CPU without compiling; CUDA parity is in test_gpu.py."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from tests.attention.cases import CASES, Case, arguments, operands, tensors
from weft.attention import flex, oracle
from weft.attention.problem import check


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize("case", [case for case in CASES if case.gate is None], ids=str)
def test_score_mod_equals_the_oracle(case: Case, monkeypatch):
    monkeypatch.setattr(flex, "fits", lambda problem: problem.terms.quasi is None)
    monkeypatch.setattr(flex, "_compiled", lambda: flex_attention)
    x = operands(case, shape=(2, 2, 16, 16))
    a = arguments(x, tensors(x, torch.float32, requires_grad=False))
    problem = check(a["query"], a["key"], a["value"], None, a["mask"], a["terms"], 0.0, None)
    with torch.no_grad():
        output = flex.flex(problem)
    np.testing.assert_allclose(output.numpy(), oracle.forward(x).output, rtol=0, atol=2e-5)
