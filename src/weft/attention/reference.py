"""The readable truth in torch: the equations of :func:`weft.attention.attend`, line by line.

Any dtype and device; keeps every map. The other paths are faster and are tested against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import dropout, pad

from weft.attention.problem import Problem


@dataclass(frozen=True)
class Maps:
    """What attention looked at; each is None where it was not asked for or does not exist.

    Args:
        weights: A, softmax weights over ``[prefix ‖ keys]``, ``(batch, heads, query, P + key)``.
        quasi: G, ``(batch, heads, query, key)``.
        gate: Λ, ``(batch, heads, query, key)`` for the pair gate, ``(batch, heads, query, 1)`` for the row gate.
        prefix: Weight on the whole prefix, ``(batch, heads, query)``.
    """

    weights: Tensor | None = None
    quasi: Tensor | None = None
    gate: Tensor | None = None
    prefix: Tensor | None = None


def token_scores(problem: Problem) -> Tensor:
    """S after decay and masks, ``(batch, heads, query, key)``; -inf where a mask forbids."""
    scores = torch.matmul(problem.query, problem.key.transpose(-2, -1)) * problem.scale
    decay = problem.terms.decay
    if decay is not None:
        scores = scores * decay.factor if decay.mode == "scores" else scores + decay.factor.log()
    allowed = problem.allowed()
    return scores if allowed is None else scores.masked_fill(~allowed, float("-inf"))


def softmax_or_zero(scores: Tensor) -> Tensor:
    """Softmax over the last dimension; a row of nothing but -inf gives zeros, and a zero gradient."""
    empty = scores.isneginf().all(dim=-1, keepdim=True)
    wide = torch.promote_types(scores.dtype, torch.float32)
    return torch.softmax(scores.masked_fill(empty, 0.0), dim=-1, dtype=wide).masked_fill(empty, 0.0)


def quasi_maps(problem: Problem) -> tuple[Tensor, Tensor]:
    """G and Λ of the quasi-attention."""
    quasi = problem.terms.quasi
    if quasi is None:
        raise ValueError("no quasi term")
    logits = torch.matmul(quasi.query, quasi.key.transpose(-2, -1)) * problem.scale
    quasi_weights = quasi.alpha * torch.sigmoid(logits)
    allowed = problem.allowed()
    if allowed is not None:
        quasi_weights = quasi_weights.masked_fill(~allowed, 0.0)
    last = -1 if quasi.gate == "row" else -2
    gate = (
        1.0 - quasi.beta * quasi.lambda_query.unsqueeze(-1) - quasi.gamma * quasi.lambda_key.unsqueeze(last)
    )
    return quasi_weights, gate


def reference(problem: Problem) -> tuple[Tensor, Maps]:
    """Attention with every map, by plain autograd."""
    scores = token_scores(problem)
    length = problem.prefix_length
    if problem.terms.prefix is not None:
        prefix_key = problem.terms.prefix.key.to(problem.query.dtype)
        prefix_scores = torch.matmul(problem.query, prefix_key.transpose(-2, -1)) * problem.scale
        scores = torch.cat([prefix_scores.to(scores.dtype), scores], dim=-1)
    weights = softmax_or_zero(scores)
    total, quasi_weights, gate = weights, None, None
    if problem.terms.quasi is not None:
        quasi_weights, gate = quasi_maps(problem)
        total = weights + pad(gate * quasi_weights, (length, 0))
    values = problem.values()
    output = torch.matmul(dropout(total, problem.dropout_p).to(values.dtype), values)
    prefix_weight = weights[..., :length].sum(dim=-1) if length else None
    return output, Maps(weights, quasi_weights, gate, prefix_weight)
