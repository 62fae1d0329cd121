"""Products with a fixed matrix for answers: in eight bits or bfloat16, in blocks of rows, without gradients."""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weft.attention.operation import cpu_multiplies_bf16
from weft.errors import ConfigError

Arithmetic: TypeAlias = Literal["bf16", "int8"]

BLOCK = 512
"""Rows of one product: what a feed-forward layer makes of them stays in a cache."""

_STEP = 64
_LEAST_GELU = 0.17  # GELU(x) ≥ −0.16998


def cpu_multiplies_int8() -> bool:
    """Whether this CPU adds products of eight bits in 32 (VNNI, AMX): older ones saturate in 16."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()
    has = any(capabilities.get(name) for name in ("avx512_vnni", "avx_vnni", "amx_int8"))
    return has and torch.backends.mkldnn.is_available()


def fastest_on_cpu() -> Arithmetic | None:
    """The fastest arithmetic of this CPU; None where float32 is.

    Tiles (AMX) multiply bfloat16 so fast that rounding to eight bits, row by row, takes longer than it spares.
    """
    if (
        getattr(torch.cpu, "get_capabilities", dict)().get("amx_bf16")
        and torch.backends.mkldnn.is_available()
    ):
        return "bf16"
    if cpu_multiplies_int8():
        return "int8"
    return "bf16" if cpu_multiplies_bf16() else None


class Int8Product(nn.Module):
    """y = W·x + b with both factors in eight bits, or the GELU of it.

    ::

        W_nk ≈ s_n·w_nk                 s_n = max_k |W_nk| / 127
        x_ik ≈ r_i·(u_ik − 128)         r_i = max_k |x_ik| / 127
        y_in = r_i·s_n·Σ_k (u_ik − 128)·w_nk + b_n

    A row has a scale of its own, so that an answer does not depend on what else is in the batch. A model
    that is stored in eight bits has these s and w already: nothing of its weights is lost.

    Args:
        weight: ``(out, in)``, W.
        bias: ``(out,)``, b.
        after_gelu: Whether x comes out of a GELU, so x > −0.17: then x ≈ r·u − 0.17 with
            r = (max_k x_ik + 0.17) / 255 uses all of the eight bits, and b takes −0.17·Σ_k W_nk.
        then_gelu: Give GELU(y).
    """

    takes = torch.float32

    def __init__(
        self, weight: Tensor, bias: Tensor, *, after_gelu: bool = False, then_gelu: bool = False
    ) -> None:
        super().__init__()
        weight = weight.detach().float()
        scale = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny)
        rounded = (weight / scale[:, None]).round()
        bias = bias.detach().float()
        if after_gelu:
            bias = bias - _LEAST_GELU * (rounded * scale[:, None]).sum(dim=1)
        self.after_gelu, self.then_gelu = after_gelu, then_gelu
        self.bias, self.scale = bias.clone(), scale
        self.zero = torch.zeros(len(weight), dtype=torch.int64)
        self.packed = torch.ops.onednn.qlinear_prepack(rounded.to(torch.int8), [BLOCK, weight.shape[1]])

    def forward(self, rows: Tensor) -> Tensor:
        """``(rows, in)`` to ``(rows, out)``, float32."""
        if self.after_gelu:
            largest = rows.amax(dim=1, keepdim=True).add_(_LEAST_GELU)
            factor = 255 / largest
            shifted = torch.addcmul(factor * _LEAST_GELU - 128, rows, factor).round_().to(torch.int8)
            row_scale, zero = largest / 255, 0
        else:
            largest = rows.abs().amax(dim=1, keepdim=True).clamp_(min=1e-30)
            shifted = (rows * (127 / largest)).round_().to(torch.int8)
            row_scale, zero = largest / 127, 128
        # To signed bytes and from there to unsigned ones by the sign bit: faster than the direct way.
        unsigned = shifted.view(torch.uint8).bitwise_xor_(128)
        product = torch.ops.onednn.qlinear_pointwise(
            *(unsigned, 1.0, zero, self.packed, self.scale, self.zero),
            *(None, 1.0, 0, torch.float32, "none", [], ""),
        )
        # In place: fresh memory would cost as much as the sum itself.
        found = torch.addcmul(self.bias, product, row_scale, out=product)
        return F.gelu(found) if self.then_gelu else found


class Bf16Product(nn.Module):
    """y = W·x + b with both factors rounded to bfloat16, or the GELU of it; the weights once, here.

    On a CPU with products of bfloat16 the weights lie as oneDNN wants them, and it takes the GELU of its own sums,
    which are float32.

    Args:
        weight: ``(out, in)``.
        bias: ``(out,)``.
        then_gelu: Give GELU(y).
    """

    takes = torch.bfloat16

    def __init__(self, weight: Tensor, bias: Tensor, *, then_gelu: bool = False) -> None:
        super().__init__()
        self.weight, self.bias = weight.detach().bfloat16(), bias.detach().bfloat16()
        self.then_gelu = then_gelu
        self.packed = (
            weight.device.type == "cpu" and cpu_multiplies_bf16() and torch.backends.mkldnn.is_available()
        )
        if self.packed:
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, BLOCK)

    def forward(self, rows: Tensor) -> Tensor:
        """``(rows, in)`` to ``(rows, out)``, bfloat16: the next product rounds to it anyway."""
        rows = rows.bfloat16()
        if self.packed:
            then = ("gelu", [], "none") if self.then_gelu else ("none", [], "")
            return torch.ops.mkldnn._linear_pointwise(rows, self.weight, self.bias, *then)
        found = F.linear(rows, self.weight, self.bias)
        return F.gelu(found) if self.then_gelu else found


def product(
    weight: Tensor, bias: Tensor, arithmetic: Arithmetic, *, after_gelu: bool = False, then_gelu: bool = False
) -> Int8Product | Bf16Product:
    """The product in this arithmetic.

    Raises:
        ConfigError: Eight bits on a processor that does not multiply them exactly.
    """
    if arithmetic == "bf16":
        return Bf16Product(weight, bias, then_gelu=then_gelu)
    if not cpu_multiplies_int8():
        raise ConfigError("this processor has no exact products of eight bits", hint="use fp32 or bf16")
    return Int8Product(weight, bias, after_gelu=after_gelu, then_gelu=then_gelu)


class FeedForward(nn.Module):
    """y = W₂·GELU(W₁·x + b₁) + b₂; what lies between the two products is as exact as the second takes it.

    Args:
        first: W₁ and b₁.
        second: W₂ and b₂.
        arithmetic: How they multiply.
    """

    def __init__(self, first: nn.Linear, second: nn.Linear, arithmetic: Arithmetic) -> None:
        super().__init__()
        self.first = product(first.weight, first.bias, arithmetic, then_gelu=True)
        self.second = product(second.weight, second.bias, arithmetic, after_gelu=True)

    def forward(self, rows: Tensor) -> Tensor:
        """``(rows, hidden)`` to the same, float32."""
        return self.second(self.first(rows)).float()


def blocks(rows: Tensor) -> list[Tensor]:
    """The rows in blocks of ``BLOCK``, the last one filled up with zeros to a multiple of 64.

    oneDNN compiles, and keeps, code for every number of rows that it meets (11 MiB each in bfloat16): so it
    meets nine of them, however many texts there are.
    """
    found = list(rows.split(BLOCK))
    missing = -len(found[-1]) % _STEP
    if missing:
        found[-1] = F.pad(found[-1], (0, 0, 0, missing))
    return found


def by_blocks(layer: nn.Module, rows: Tensor) -> Tensor:
    """A layer that treats every row for itself, block by block."""
    return torch.cat([layer(block) for block in blocks(rows)])[: len(rows)]


class BlockedLinear(nn.Module):
    """In the place of an ``nn.Linear``: any leading dimensions, block by block.

    Args:
        linear: What it stands for.
        arithmetic: How it multiplies.
        after_gelu: See :class:`Int8Product`.
    """

    def __init__(self, linear: nn.Linear, arithmetic: Arithmetic, *, after_gelu: bool = False) -> None:
        super().__init__()
        self.product = product(linear.weight, linear.bias, arithmetic, after_gelu=after_gelu)

    def forward(self, x: Tensor) -> Tensor:
        """``(…, in)`` to ``(…, out)``, float32."""
        return by_blocks(self.product, x.flatten(0, -2)).float().unflatten(0, x.shape[:-1])
