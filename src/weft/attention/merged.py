"""The path for a prefix on a CPU: the fused kernel reads the tokens alone, the prefix is merged after it.

The kernel tells logsumexp of the token scores S beside its output O, and with the prefix scores R that is enough::

    R      = query · prefix_keyᵀ · D^-½                  (batch, heads, query, P)
    total  = logaddexp(logsumexp S, logsumexp R)
    W      = exp(R − total)                              the prefix's weights
    output = (1 − Σ W) · O + W · prefix_value

Backward: the kernel's own, given the merged output and ``total``, yields the tokens' gradients; the prefix adds

    δ   = rowsum(dO ⊙ output)       dR = W ⊙ (dO · prefix_valueᵀ − δ)
    dQ += dR · prefix_key · D^-½    dprefix_key = dRᵀ · query · D^-½      dprefix_value = Wᵀ · dO

Keys and values are not copied, which is what joining costs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from weft.attention.once import first_derivatives_only
from weft.attention.problem import Problem

LEAST = 64
"""From how many queries and keys on the kernel's logsumexp is trusted to show what is not finite."""


WORTH = 1 << 16
"""From how many numbers of query in a batch entry on merging one prefix token beats joining it."""


def pays(problem: Problem) -> bool:
    """Whether merging is the faster way: one prefix token, and enough to read."""
    return problem.prefix_length == 1 and problem.query[0].numel() >= WORTH and fits(problem)


def fits(problem: Problem) -> bool:
    """Whether this path can express the call: a prefix and nothing else, fp32 or fp64 on a CPU with that kernel."""
    terms, query = problem.terms, problem.query
    return (
        problem.prefix_length > 0
        and terms.decay is None
        and terms.quasi is None
        and problem.dropout_p == 0.0
        and query.device.type == "cpu"
        and query.dtype in (torch.float32, torch.float64)
        and query.shape[3] == problem.value.shape[3]
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
        and kernels() is not None
    )


@lru_cache(maxsize=1)
def kernels() -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The fused CPU kernel with its logsumexp and its backward; None where torch has none or hides a NaN in it."""
    name = "_scaled_dot_product_flash_attention_for_cpu"
    forward, backward = (getattr(torch.ops.aten, name + part, None) for part in ("", "_backward"))
    if forward is None or backward is None:
        return None
    rows = torch.zeros(1, 1, LEAST, 16, device="cpu")
    keys = rows.clone()
    keys[0, 0, -1, -1] = torch.nan
    hides = bool(torch.isfinite(forward(rows, keys, rows)[1]).any())
    return None if hides else (forward, backward)


def merged(problem: Problem) -> Tensor:
    """Attention with a merged prefix, ``(batch, heads, query, D)``; first derivatives only.

    Raises:
        NonFiniteError: NaN or infinity in query, key, value or prefix. What is looked at is what they come to: an
            infinite key that every query scores with −∞ weighs nothing and passes.
    """
    prefix, query = problem.terms.prefix, problem.query
    assert prefix is not None  # fits() has looked
    if min(query.shape[2], problem.key.shape[2]) < LEAST:
        problem.refuse_non_finite()
    allowed, bias, blind = problem.allowed(), None, None
    if allowed is not None:
        # A row that sees nothing sees everything, and weighs nothing afterwards.
        blind = ~allowed.any(dim=-1)
        bias = torch.zeros(allowed.shape, dtype=query.dtype, device=query.device)
        bias = bias.masked_fill_(~(allowed | blind[..., None]), float("-inf"))
        bias = bias.expand(query.shape[0], -1, query.shape[2], -1)
    keys, values = prefix.key.to(query.dtype), prefix.value.to(query.dtype)
    operands = (
        _with_whole_rows(query),
        _with_whole_rows(problem.key),
        _with_whole_rows(problem.value),
        keys,
        values,
    )
    if not torch.is_grad_enabled():
        operands = tuple(operand.detach() for operand in operands)
    return _Merged.apply(problem, bias, blind, *operands)


class _Merged(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, problem: Problem, bias: Tensor | None, blind: Tensor | None, query: Tensor, key: Tensor,
        value: Tensor, prefix_key: Tensor, prefix_value: Tensor,
    ) -> Tensor:  # fmt: skip
        found = kernels()
        assert found is not None  # fits() has looked
        output, tokens = found[0](query, key, value, attn_mask=bias, scale=problem.scale)
        scores = query.new_empty(*query.shape[:3], prefix_key.shape[2])
        # One batch entry at a time: heads lie between rows, and a product over all entries would copy them.
        for into, rows, keys in _entries(scores, query, prefix_key):
            into.baddbmm_(rows, keys.mT, beta=0.0, alpha=problem.scale)
        seen = scores.sum() + tokens.sum() + output[:, :, 0].sum() + prefix_value.sum()
        # Every row weighs every value, so one row of the output shows whether the values are finite.
        if not bool(torch.isfinite(seen)):
            problem.refuse_non_finite()
        if blind is not None:
            tokens = tokens.masked_fill(blind, float("-inf"))
        prefix = scores.squeeze(3) if scores.shape[3] == 1 else scores.logsumexp(dim=3)
        share = torch.sigmoid(prefix - tokens)[..., None]
        weights = share if scores.shape[3] == 1 else scores.softmax(dim=3) * share
        if scores.shape[3] == 1:
            output.lerp_(prefix_value, share)
        else:
            output.mul_(1.0 - share)
            for into, rows, values in _entries(output, weights, prefix_value):
                into.baddbmm_(rows, values)
        if not any(ctx.needs_input_grad):
            return output
        total = torch.logaddexp(prefix, tokens)
        if blind is not None:
            # exp(S − total) is then 0 in the kernel's backward.
            total.masked_fill_(blind, float("inf"))
        ctx.scale = problem.scale
        ctx.save_for_backward(bias, query, key, value, prefix_key, prefix_value, output, total, weights)
        return output

    @staticmethod
    @first_derivatives_only("the merged path")
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the base is untyped
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[Tensor | None, ...]:
        bias, query, key, value, prefix_key, prefix_value, output, total, weights = ctx.saved_tensors
        (d_output,) = grad_outputs
        found = kernels()
        assert found is not None
        d_query, d_key, d_value = found[1](
            d_output, query, key, value, output, total, 0.0, False, attn_mask=bias, scale=ctx.scale
        )
        d_prefix_key, d_prefix_value = torch.empty_like(prefix_key), torch.empty_like(prefix_value)
        products, d_scores = torch.empty_like(output[0]), torch.empty_like(weights[0])
        everything = (
            d_output, output, query, weights, prefix_key, prefix_value, d_query, d_prefix_key, d_prefix_value
        )  # fmt: skip
        for d_out, out, rows, weight, keys, values, d_rows, d_keys, d_values in _entries(*everything):
            delta = torch.mul(d_out, out, out=products).sum(dim=2, keepdim=True)
            torch.bmm(d_out, values.mT, out=d_scores).sub_(delta).mul_(weight)
            d_rows.baddbmm_(d_scores, keys, alpha=ctx.scale)
            d_keys.baddbmm_(d_scores.mT, rows, beta=0.0, alpha=ctx.scale)
            d_values.baddbmm_(weight.mT, d_out, beta=0.0)
        return None, None, None, d_query, d_key, d_value, d_prefix_key, d_prefix_value


def _with_whole_rows(tensor: Tensor) -> Tensor:
    """The tensor with the numbers of a row beside each other: the kernel takes that for granted and never looks."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _entries(*tensors: Tensor) -> zip[tuple[Tensor, ...]]:
    """Batch entry by batch entry."""
    return zip(*(tensor.unbind(0) for tensor in tensors), strict=True)
