"""The path over ``torch.nn.functional.scaled_dot_product_attention``: plain, prefix, decay on weights.

The prefix is concatenated to keys and values; log F and the masks become one additive bias, or one
boolean mask where there is no decay. Dropout is SDPA's own, on the softmax weights.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from weft.attention.problem import Problem
from weft.attention.reference import token_scores


def sdpa(problem: Problem) -> Tensor:
    """Attention by SDPA, ``(batch, heads, query, D)``; a query that sees no key gives exactly 0."""
    allowed, blind = problem.sighted()
    with without_plans(problem.query.device):
        output = scaled_dot_product_attention(
            problem.query,
            problem.keys(),
            problem.values(),
            attn_mask=_bias(problem, allowed),
            dropout_p=problem.dropout_p,
            scale=problem.scale,
        )
    return output if blind is None else output.masked_fill(blind, 0.0)


def without_plans(device: torch.device) -> AbstractContextManager[object]:
    """SDPA without cuDNN, which makes a plan for every new shape: batches of texts seldom have the same one twice.

    On an H200 a call took 7.4 ms of the host with it, in the mean of 1,066 calls of a training.
    """
    if device.type != "cuda" or torch.compiler.is_compiling():
        return nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])


def _bias(problem: Problem, allowed: Tensor | None) -> Tensor | None:
    length = problem.prefix_length
    decay = problem.terms.decay
    if decay is None:
        if allowed is None:
            return None
        batch, _, queries, _ = problem.query.shape
        # The fused CPU kernel takes a mask with the batch and query dimensions spelled out.
        allowed = allowed.expand(-1, -1, -1, problem.key.shape[2])
        return pad(allowed, (length, 0), value=True).expand(batch, -1, queries, -1)
    bias = decay.factor.log().to(problem.query.dtype)
    if allowed is not None:
        bias = bias.masked_fill(~allowed, float("-inf"))
    batch, heads, queries, keys = (*problem.query.shape[:3], problem.key.shape[2])
    bias = bias.expand(-1, -1, -1, keys)
    return pad(bias, (length, 0)).expand(batch, heads, queries, length + keys)


def fits(problem: Problem) -> bool:
    """Whether SDPA can express the terms."""
    decay = problem.terms.decay
    return problem.terms.quasi is None and (decay is None or decay.mode == "weights")


def prefix_weight(problem: Problem, rows: int = 256) -> Tensor:
    """The softmax weight on the whole prefix, ``(batch, heads, query)``, never holding the whole map.

    exp(logsumexp of the prefix scores − logsumexp of all scores), by blocks of query rows; not
    differentiable, since it is there to be looked at.
    """
    prefix = problem.terms.prefix
    if prefix is None:
        raise ValueError("no prefix")
    parts: list[Tensor] = []
    with torch.no_grad():
        prefix_key = prefix.key.to(problem.query.dtype).transpose(-2, -1)
        for start in range(0, problem.query.shape[2], rows):
            block = problem.rows(start, start + rows)
            ours = (torch.matmul(block.query, prefix_key) * problem.scale).float().logsumexp(dim=-1)
            rest = token_scores(block).float().logsumexp(dim=-1)
            parts.append(torch.sigmoid(ours - rest))
    return torch.cat(parts, dim=-1)
