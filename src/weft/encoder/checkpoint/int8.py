"""Weights in eight bits on disk: a quarter of the size, computed with in float as before."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from weft.encoder.checkpoint.tensors import own_tensors

_SCALE = "/scale"


class Int8Storage(nn.Module):
    """The tensors of a model as they lie on disk: matrices in int8 with a scale for each row.

    W_ij ≈ s_i·q_ij,   s_i = max_j |W_ij| / 127,   q_ij = round(W_ij / s_i)

    What is not a matrix stays as it is. The file has a quarter of the size; the model computes in float
    as before.

    Args:
        tensors: Names and tensors of a model.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        super().__init__()
        for name, tensor in tensors.items():
            key = name.replace(".", "/")
            if tensor.dim() < 2 or not tensor.is_floating_point():
                self.register_buffer(key, tensor.detach().clone())
                continue
            values = tensor.detach().float()
            scale = values.abs().amax(dim=-1, keepdim=True) / 127
            rounded = (values / scale.clamp(min=torch.finfo(torch.float32).tiny)).round()
            self.register_buffer(key, rounded.to(torch.int8))
            self.register_buffer(key + _SCALE, scale)

    def fill(self, module: nn.Module) -> None:
        """Copy the tensors into the module from whose names and shapes this storage was made."""
        stored = dict(self.named_buffers())
        with torch.no_grad():
            for name, tensor in own_tensors(module).items():
                key = name.replace(".", "/")
                values = stored[key]
                scale = stored.get(key + _SCALE)
                tensor.copy_(values if scale is None else values.float() * scale)
