"""Weights in eight bits on disk: a quarter of the size, computed with in float as before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from weft.encoder.checkpoint.storage import Config, load_model, save_model
from weft.encoder.checkpoint.tensors import own_tensors
from weft.errors import ConfigError

_SCALE = "/scale"
_INT8 = "int8"
_Module = TypeVar("_Module", bound=nn.Module)


Bits = int | Mapping[str, int]


class Int8Storage(nn.Module):
    """The tensors of a model as they lie on disk: matrices in int8 with a scale for each row.

    W_ij ≈ s_i·q_ij,   s_i = max_j |W_ij| / L,   q_ij = round(W_ij / s_i),   L = 2^(bits − 1) − 1

    What is not a matrix stays as it is. The file has a quarter of the size; the model computes in float
    as before. With fewer bits every number still takes a byte, but a compressed file, such as a wheel, is smaller.

    Args:
        tensors: Names and tensors of a model.
        bits: How fine the numbers are, 2 to 8; by what names begin with, 8 for the others, where it is a mapping. It
            says nothing where a storage is filled from a file.

    Raises:
        ConfigError: No such number of bits.
    """

    def __init__(self, tensors: Mapping[str, Tensor], bits: Bits = 8) -> None:
        super().__init__()
        for given in (bits,) if isinstance(bits, int) else bits.values():
            if not 2 <= given <= 8:
                raise ConfigError(f"bits is {given}; it must be in 2..8")
        for name, tensor in tensors.items():
            largest = 2 ** (_bits_of(name, bits) - 1) - 1
            key = name.replace(".", "/")
            if tensor.dim() < 2 or not tensor.is_floating_point():
                self.register_buffer(key, tensor.detach().clone())
                continue
            values = tensor.detach().float()
            scale = values.abs().amax(dim=-1, keepdim=True) / largest
            rounded = (values / scale.clamp(min=torch.finfo(torch.float32).tiny)).round()
            self.register_buffer(key, rounded.to(torch.int8))
            self.register_buffer(key + _SCALE, scale)

    @classmethod
    def empty(cls, tensors: Mapping[str, Tensor]) -> Self:
        """A storage of these names and shapes, to be filled from a file."""
        storage = cls({})
        for name, tensor in tensors.items():
            key = name.replace(".", "/")
            plain = tensor.dim() < 2 or not tensor.is_floating_point()
            kind = tensor.dtype if plain else torch.int8
            storage.register_buffer(key, torch.empty(tensor.shape, dtype=kind, device=tensor.device))
            if not plain:
                scales = torch.empty(*tensor.shape[:-1], 1, dtype=torch.float32, device=tensor.device)
                storage.register_buffer(key + _SCALE, scales)
        return storage

    def fill(self, module: nn.Module) -> None:
        """Copy the tensors into the module from whose names and shapes this storage was made."""
        stored = dict(self.named_buffers())
        with torch.no_grad():
            for name, tensor in own_tensors(module).items():
                key = name.replace(".", "/")
                values = stored[key]
                scale = stored.get(key + _SCALE)
                tensor.copy_(values if scale is None else values.float() * scale)


def as_floats(stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a storage by their keys, matrices multiplied with their scales; the others as they are."""
    return {
        key: values if key + _SCALE not in stored else values.float() * stored[key + _SCALE]
        for key, values in stored.items()
        if not key.endswith(_SCALE)
    }


def _bits_of(name: str, bits: Bits) -> int:
    if isinstance(bits, int):
        return bits
    return next((given for start, given in bits.items() if name.startswith(start)), 8)


def save_compressed(
    directory: str | Path,
    module: nn.Module,
    config: Config,
    tokenizer: Tokenizer,
    *,
    kind: str,
    dtype: torch.dtype | None = None,
    bits: Bits | None = None,
) -> None:
    """Save a model; with ``bits`` its matrices in bytes as fine as that. :func:`load_filled` reads it.

    See :func:`weft.encoder.checkpoint.storage.save_model`, to which ``dtype`` goes where there are no ``bits``.
    """
    if bits is None:
        save_model(directory, module, config, tokenizer, kind=kind, dtype=dtype)
        return
    values = {**config.to_dict(), _INT8: True}
    save_model(directory, Int8Storage(own_tensors(module), bits), values, tokenizer, kind=kind)


def load_filled(directory: str | Path, build: Callable[[Mapping[str, Any]], _Module], kind: str) -> _Module:
    """Read a model that was saved in bytes, or as it is.

    Args:
        directory: Its folder.
        build: Makes the model from its configuration.
        kind: What it must be.

    Raises:
        CheckpointError: It is damaged, of another kind, or does not fit its configuration.
    """
    built: list[_Module] = []

    def made(values: Mapping[str, Any]) -> nn.Module:
        fields = dict(values)
        int8 = fields.pop(_INT8, False)
        # In single precision, whatever torch makes by default: a shipped model answers the same everywhere.
        built.append(build(fields).float())
        return Int8Storage.empty(own_tensors(built[-1])) if int8 else built[-1]

    stored = load_model(directory, made, kind)
    if isinstance(stored, Int8Storage):
        stored.fill(built[-1])
    return built[-1]
