"""Tensors of odd kinds in a checkpoint: refused by name, whatever torch can do with them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from weft.encoder.checkpoint.tensors import fill, read_tensors
from weft.errors import CheckpointError

NUMBERS = torch.arange(4.0).reshape(2, 2)


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (NUMBERS.to_sparse(), r"weight sparse torch\.float32"),
        (torch.empty(2, 2, device="meta"), r"weight empty torch\.float32"),
        (NUMBERS.to(torch.float8_e4m3fn), r"weight torch\.float8_e4m3fn"),
        (NUMBERS.to(torch.complex64), r"weight torch\.complex64"),
        (NUMBERS.to(torch.bool), r"weight torch\.bool"),
    ],
    ids=["sparse", "meta", "float8", "complex", "bool"],
)
def test_odd_tensors_are_named(tmp_path: Path, tensor: torch.Tensor, said: str) -> None:
    torch.save({"weight": tensor}, tmp_path / "pytorch_model.bin")
    target = torch.zeros(2, 2)
    with pytest.raises(CheckpointError, match=f"1 of another kind of number: {said}"):
        fill({"weight": target}, read_tensors(tmp_path), "a file")
    assert not target.any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_numbers_of_other_widths_are_taken(tmp_path: Path, dtype: torch.dtype) -> None:
    save_file({"weight": NUMBERS.to(dtype)}, tmp_path / "model.safetensors")
    target = torch.zeros(2, 2)
    fill({"weight": target}, read_tensors(tmp_path), "a file")
    assert torch.equal(target, NUMBERS)
