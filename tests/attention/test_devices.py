"""Tensors on several devices, and on `meta`, which holds shapes and no numbers."""

from __future__ import annotations

import pytest
import torch

from tests.attention.cases import CASES, Case, arguments, operands, tensors
from weft.attention import attend
from weft.errors import ConfigError, InputError

EVERYTHING = Case(1, "scores", "pair", "padding")


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("case", CASES[::4], ids=str)
def test_on_meta_the_shape_is_told(case, trained):
    x = operands(case)
    call = arguments(x, tensors(x, torch.float32, "meta", requires_grad=trained))
    output, _ = attend(**call)
    assert output.shape == x.query.shape
    with pytest.raises(ConfigError, match=r"the chunked path .* meta .*'auto'"):
        attend(**call, path="chunked")


@pytest.mark.parametrize("path", ["auto", "reference", "chunked"])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("key", "key"),
        ("value", "value"),
        ("prefix_key", "prefix key"),
        ("factor", "decay factor"),
        ("lambda_key", "quasi lambda_key"),
        ("mask", "mask"),
    ],
)
def test_what_is_on_another_device_is_named(name, told, path):
    x = operands(EVERYTHING)
    t = tensors(x, torch.float32, requires_grad=False)
    if name in t:
        t[name] = t[name].to("meta")
    call = arguments(x, t)
    if name == "mask":
        call["mask"] = call["mask"].to("meta")
    with pytest.raises(InputError, match=f"^{told} is on meta, query on cpu; they must be on one device"):
        attend(**call, path=path)
