"""Weights in bytes: fewer bits are coarser, smaller once compressed, and come back by the same map."""

from __future__ import annotations

import zlib

import pytest
import torch

from weft.encoder.checkpoint.int8 import Int8Storage
from weft.encoder.checkpoint.tensors import own_tensors
from weft.errors import ConfigError


@pytest.mark.parametrize("bits", [2, 6, 8])
def test_each_number_is_as_near_as_its_bits_allow(bits: int) -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(64, 32)
    storage = Int8Storage(own_tensors(layer), bits)
    stored = dict(storage.named_buffers())
    largest = 2 ** (bits - 1) - 1
    assert int(stored["weight"].abs().max()) == largest
    other = torch.nn.Linear(64, 32)
    Int8Storage.fill(storage, other)
    apart = (other.weight - layer.weight).abs()
    assert bool((apart <= stored["weight/scale"] / 2 + 1e-7).all())
    assert torch.equal(other.bias, layer.bias)


def test_fewer_bits_compress_better() -> None:
    torch.manual_seed(0)
    tensors = {"w": torch.randn(256, 256)}
    sizes = [
        len(zlib.compress(dict(Int8Storage(tensors, bits).named_buffers())["w"].numpy().tobytes()))
        for bits in (8, 6)
    ]
    assert sizes[1] < 0.8 * sizes[0]
    with pytest.raises(ConfigError, match="bits is 9"):
        Int8Storage(tensors, 9)
