"""The path over FlexAttention, CUDA only: plain, prefix and both decays, without dropout.

On a CPU, FlexAttention of torch 2.13 has no backward. The kernel is compiled at the first call with a
set of terms; ``tests/attention/test_gpu.py`` holds its parity test.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from weft.attention.problem import Problem
from weft.errors import ConfigError

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def fits(problem: Problem) -> bool:
    """Whether FlexAttention can express the call: on CUDA, no quasi-attention, no dropout."""
    return problem.query.is_cuda and problem.terms.quasi is None and problem.dropout_p == 0.0


@lru_cache(maxsize=1)
def _compiled() -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import flex_attention  # importing it costs half a second

    return torch.compile(flex_attention, dynamic=False)


def flex(problem: Problem) -> Tensor:
    """Attention by FlexAttention, ``(batch, heads, query, D)``.

    Raises:
        ConfigError: Not on CUDA, with quasi-attention, or with dropout.
    """
    if not fits(problem):
        raise ConfigError(
            "the flex path needs a CUDA device, no quasi term and no dropout",
            hint="use path='auto'",
        )
    allowed, blind = problem.sighted()
    output = _compiled()(
        problem.query.contiguous(),
        problem.keys().contiguous(),
        problem.values().contiguous(),
        score_mod=_score_mod(problem, allowed),
        scale=problem.scale,
    )
    return output if blind is None else output.masked_fill(blind, 0.0)


def _score_mod(problem: Problem, allowed: Tensor | None) -> ScoreMod | None:
    decay, length = problem.terms.decay, problem.prefix_length
    if decay is None and allowed is None:
        return None
    batch, heads, queries, keys = (*problem.query.shape[:3], problem.key.shape[2])
    full = (batch, heads, queries, keys)
    factor = None if decay is None else decay.factor
    on_scores = decay is not None and decay.mode == "scores"
    if factor is not None:
        factor = (factor if on_scores else factor.log()).expand(full)
    mask = None if allowed is None else allowed.expand(full)

    def score_mod(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        token = torch.clamp(k - length, min=0)
        changed = score
        if factor is not None:
            here = factor[b, h, q, token]
            changed = score * here if on_scores else score + here
        if mask is not None:
            changed = torch.where(mask[b, h, q, token], changed, float("-inf"))
        return torch.where(k < length, score, changed) if length else changed

    return score_mod
