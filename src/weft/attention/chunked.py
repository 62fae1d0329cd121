"""Attention in chunks that stay in the cache, with a backward that recomputes instead of remembering.

One pass over chunks of (batch, heads, query rows): scores, decay, softmax and λ·sigmoid are formed in
small buffers, and a single product with the values finishes the chunk. Of inputs too long for a chunk nothing
of size query × key is kept between forward and backward; the maps of shorter ones are kept, for they are small
and making them again would cost more. With T = A + [0 ‖ Λ⊙G] (dropped out by M), the backward of a chunk is

    dT = (dO·Vᵀ) ⊙ M          dV += (T ⊙ M)ᵀ·dO        dS = A ⊙ (dT − rowsum(dT ⊙ A))
    dF = dS ⊙ S, dS ← dS ⊙ F  (decay on scores)         dF = dS / F  (decay on weights)
    dQ = dS·K·D^-½            dK += dSᵀ·Q·D^-½
    dG' = dT ⊙ Λ·α·σ(1 − σ)   dC_Q = dG'·C_K·D^-½       dC_K += dG'ᵀ·C_Q·D^-½
    dΛ = dT ⊙ G               dλ_Q = −β·rowsum(dΛ)      dλ_K = −γ·rowsum(dΛ) (row) or −γ·colsum(dΛ) (pair)

Dropout is the same single mask on T as on the reference path; each chunk draws it from its own seed, so
that the backward draws it again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from weft.attention.chunk_maps import (
    Inputs,
    Kept,
    Maps,
    Plan,
    dropout,
    form,
    gate,
    product,
    recall,
    share_of,
    take,
)
from weft.attention.chunks import CHUNK_BYTES, Chunk, chunks, multiply, parts
from weft.attention.once import first_derivatives_only
from weft.attention.problem import Problem

LONG = 512
"""From how many keys on gradients of keys and values are accumulated transposed."""


def chunked(problem: Problem, chunk_elements: int | None = None) -> Tensor:
    """Attention by recomputing chunks, ``(batch, heads, query, D)``; first derivatives only.

    Args:
        problem: The checked inputs.
        chunk_elements: Scores per chunk; the default depends on the device.
    """
    decay, quasi = problem.terms.decay, problem.terms.quasi
    alpha = 1.0 if quasi is None else quasi.alpha
    allowed = problem.allowed()
    batch, heads, rows, _ = problem.query.shape
    keys = problem.key.shape[2]
    room = CHUNK_BYTES.get(problem.query.device.type, CHUNK_BYTES["cuda"]) // problem.query.element_size()
    room = room if chunk_elements is None else chunk_elements
    plan = Plan(
        scale=problem.scale,
        prefix_length=problem.prefix_length,
        decay_mode=None if decay is None else decay.mode,
        gate="row" if quasi is None else quasi.gate,
        alpha=1.0 if isinstance(alpha, Tensor) else alpha,
        beta=0.0 if quasi is None else quasi.beta,
        gamma=0.0 if quasi is None else quasi.gamma,
        dropout_p=problem.dropout_p,
        has_blind_rows=problem.prefix_length == 0 and _any_blind(problem, allowed),
        seed=int(torch.randint(2**61, (), device="cpu").item()) if problem.dropout_p else 0,
        chunk_elements=room,
        # The maps are as wide as the products that make them; fp16 alone is widened, for its range.
        dtype=torch.float32 if problem.query.dtype == torch.float16 else problem.query.dtype,
        # Where a chunk has room for two entries, that gains more than keys left out.
        parts=parts(allowed, batch, keys, whole=2 * heads * rows * keys <= room),
    )
    dtype = problem.query.dtype
    tensors = (
        problem.query,
        problem.keys().to(dtype),
        problem.values().to(dtype),
        # 0 and -inf: adding a row is several times faster on a CPU than a broadcast masked_fill.
        None if allowed is None else allowed.to(plan.dtype).log_(),
        None if decay is None else decay.factor.to(plan.dtype),
        None if quasi is None else quasi.query.to(dtype),
        None if quasi is None else quasi.key.to(dtype),
        None if quasi is None else quasi.lambda_query.to(plan.dtype),
        None if quasi is None else quasi.lambda_key.to(plan.dtype),
        alpha.to(plan.dtype) if isinstance(alpha, Tensor) else None,
    )
    if torch.is_grad_enabled() and heads * rows * (keys + problem.prefix_length) <= room:
        plan = replace(
            plan, keeps_maps=any(tensor is not None and tensor.requires_grad for tensor in tensors)
        )
    return _Chunked.apply(plan, *tensors)


def _any_blind(problem: Problem, allowed: Tensor | None) -> bool:
    """Whether some row may see no key; taken for granted on a GPU, where asking would wait for the device."""
    decay = problem.terms.decay
    faded = None if decay is None or decay.mode == "scores" else decay.factor
    if any(told is not None and told.device.type != "cpu" for told in (allowed, faded)):
        return True
    # A factor that was rounded to 0 hides a key as a mask does.
    gone = faded is not None and problem.least_factor == 0
    return gone or (allowed is not None and not bool(allowed.any(dim=-1).all()))


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Plan, *tensors: Tensor | None) -> Tensor:
        inputs = Inputs(*tensors)  # pyright: ignore[reportArgumentType] - the first three are never None
        batch, heads, rows, _ = inputs.query.shape
        values = inputs.values
        # Laid out as (batch, query, heads, D), so that merging the heads afterwards is a view.
        output = values.new_empty((batch, rows, heads, values.shape[3])).transpose(1, 2)
        # Element 0 of needs_input_grad is the plan, element 5 the factor.
        scores = plan.decay_mode == "scores" and ctx.needs_input_grad[5]
        kept: list[Kept] = []
        with torch.autocast(values.device.type, enabled=False):
            for number, part in enumerate(plan.parts):
                here, of_part = inputs.of_part(part, plan), plan.of_part(number)
                if plan.keeps_maps:
                    kept.append(Kept.room(of_part, here, scores=scores))
                _forward_part(of_part, here, part.of(output), kept[-1] if kept else None)
        ctx.plan = plan
        ctx.save_for_backward(
            *tensors, *(t for part in kept for t in (part.weights, part.sigmoid, part.scores))
        )
        return output

    @staticmethod
    @first_derivatives_only("the chunked path")
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the base is untyped
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[Tensor | None, ...]:
        plan: Plan = ctx.plan
        count = len(Inputs.__dataclass_fields__)
        saved = ctx.saved_tensors  # asked for once: activation checkpointing hands a tensor out a single time
        inputs = Inputs(*saved[:count])
        kept = iter(saved[count:])
        wanted = dict(zip(vars(inputs), ctx.needs_input_grad[1:], strict=True))
        gradients = {
            name: _new_gradient(name, tensor, inputs, plan)
            for name, tensor in vars(inputs).items()
            if tensor is not None and wanted[name]
        }
        with torch.autocast(inputs.query.device.type, enabled=False):
            for number, part in enumerate(plan.parts):
                ours = {n: g for n, g in share_of(gradients, part, plan).items() if g is not None}
                here, of_part = inputs.of_part(part, plan), plan.of_part(number)
                d_output = part.of(grad_outputs[0]).to(here.query.dtype)
                maps = Kept(next(kept), next(kept), next(kept)) if plan.keeps_maps else None
                for chunk in chunks(here.query, here.keys.shape[2], plan.chunk_elements):
                    _backward_chunk(of_part, here, chunk, d_output, ours, maps)
        return (None, *(gradients.get(name) for name in vars(inputs)))


def _forward_part(plan: Plan, inputs: Inputs, output: Tensor, kept: Kept | None) -> None:
    """Attend chunk by chunk into ``output``."""
    for chunk in chunks(inputs.query, inputs.keys.shape[2], plan.chunk_elements):
        room = None if kept is None else kept.of(chunk)
        scores = kept is not None and kept.scores is not None
        maps = form(plan, inputs, chunk, room, scores=scores)
        mask = dropout(plan, chunk, maps.weights) if plan.dropout_p else None
        total = maps.total(plan.prefix_length, mask)
        multiply(chunk.of(output), total.to(inputs.values.dtype), chunk.keys_of(inputs.values))


def _new_gradient(name: str, tensor: Tensor, inputs: Inputs, plan: Plan) -> Tensor:
    """Room for one gradient: zeroed where chunks add to it, else to be written, its unseen keys zeroed."""
    tokens = inputs.keys.shape[2] - plan.prefix_length
    if name in ("query", "context_query"):
        return torch.empty_like(tensor)
    if name in ("keys", "values", "context_key"):
        extra = tensor.shape[2] - tokens
        # (D × rows)·(rows × keys) runs a quarter faster than (keys × rows)·(rows × D), which for long
        # inputs outweighs one transposing copy at the end.
        transposed = tensor.shape[2] >= LONG
        gradient = tensor.new_empty(tensor.mT.shape).mT if transposed else torch.empty_like(tensor)
        for part in plan.parts:
            gradient[part.batch, :, extra + part.keys :] = 0.0
        return gradient
    if name == "factor" and _is_whole(tensor, inputs, tokens):
        gradient = torch.empty_like(tensor, memory_format=torch.contiguous_format)
        for part in plan.parts:
            gradient[part.batch, ..., part.keys :] = 0.0
        return gradient
    return torch.zeros_like(tensor, memory_format=torch.contiguous_format)


def _backward_chunk(
    plan: Plan,
    inputs: Inputs,
    chunk: Chunk,
    d_output: Tensor,
    gradients: dict[str, Tensor],
    kept: Kept | None,
) -> None:
    """Add one chunk's share to every gradient that is wanted."""
    dtype, length = inputs.query.dtype, plan.prefix_length
    if kept is None:
        maps = form(plan, inputs, chunk, None, scores="factor" in gradients)
    else:
        maps = recall(plan, inputs, chunk, kept)
    d_total = product(plan, "d_total", chunk, d_output, inputs.values)
    mask = dropout(plan, chunk, d_total) if plan.dropout_p else None
    if mask is not None:
        d_total.mul_(mask)
    if maps.sigmoid is not None:
        _backward_quasi(plan, inputs, chunk, maps, d_total[..., length:], gradients)
    d_scores = torch.ops.aten._softmax_backward_data.out(
        d_total, maps.weights, -1, maps.weights.dtype, grad_input=d_total
    )
    if "values" in gradients:
        total = maps.total(length, mask)
        chunk.add_product(gradients["values"], total.to(dtype), chunk.of(d_output))
    if maps.factor is not None:
        d_tokens = d_scores[..., length:]
        if "factor" in gradients:
            whole = _is_whole(gradients["factor"], inputs, inputs.keys.shape[2] - length)
            _backward_factor(chunk.of(gradients["factor"]), d_tokens, maps, whole)
        if plan.decay_mode == "scores":
            d_tokens.mul_(maps.factor)
    _backward_product(plan.scale, chunk, d_scores.to(dtype), inputs, "query", "keys", gradients)


def _is_whole(factor: Tensor, inputs: Inputs, tokens: int) -> bool:
    """Whether F is broadcast over nothing: then each entry belongs to one chunk, which may write it."""
    return factor.shape == (*inputs.query.shape[:3], tokens)


def _backward_factor(target: Tensor, d_tokens: Tensor, maps: Maps, whole: bool) -> None:
    """Gradient of F: dS ⊙ S (on scores) or dS / F (on weights), summed over what F was broadcast over."""
    assert maps.factor is not None
    if whole:
        if maps.scores is None:
            torch.div(d_tokens, maps.factor, out=target)
        else:
            torch.mul(d_tokens, maps.scores, out=target)
    else:
        d_factor = d_tokens / maps.factor if maps.scores is None else d_tokens * maps.scores
        target.add_(d_factor.sum_to_size(target.shape))


def _backward_quasi(
    plan: Plan, inputs: Inputs, chunk: Chunk, maps: Maps, d_total: Tensor, gradients: dict[str, Tensor]
) -> None:
    """Gradients of Λ, α and the context; ``d_total`` is read, never changed: the softmax needs it after."""
    assert maps.sigmoid is not None
    assert maps.gate is not None
    product = torch.mul(d_total, maps.sigmoid, out=take("d_sigmoid", d_total, d_total.shape))
    _backward_gate(plan, inputs, chunk, product, gradients)
    if "context_query" not in gradients and "context_key" not in gradients:
        return
    # dT ⊙ σ(1 − σ); σ is 0 where a mask forbids.
    product.addcmul_(product, maps.sigmoid, value=-1.0)
    product.mul_(maps.gate)
    _backward_product(
        plan.scale, chunk, product.to(inputs.query.dtype), inputs, "context_query", "context_key", gradients
    )


def _backward_gate(
    plan: Plan, inputs: Inputs, chunk: Chunk, product: Tensor, gradients: dict[str, Tensor]
) -> None:
    """Gradients of λ_Q, λ_K and α from dT ⊙ σ."""
    alpha = plan.alpha if inputs.alpha is None else chunk.batch_of(inputs.alpha)
    by_row = product.sum(dim=-1, keepdim=True)
    if "lambda_query" in gradients:
        chunk.of(gradients["lambda_query"]).sub_((by_row * alpha).squeeze(-1), alpha=plan.beta)
    if "lambda_key" in gradients:
        if plan.gate == "row":
            chunk.of(gradients["lambda_key"]).sub_((by_row * alpha).squeeze(-1), alpha=plan.gamma)
        else:
            by_key = product.sum(dim=-2, keepdim=True) * alpha
            chunk.keys_of(gradients["lambda_key"]).sub_(by_key.squeeze(-2), alpha=plan.gamma)
    if "alpha" in gradients:
        assert inputs.alpha is not None
        bare = gate(plan, inputs.without_alpha(), chunk)
        target = chunk.batch_of(gradients["alpha"])
        target.add_(
            (product * bare if plan.gate == "pair" else by_row * bare).sum(dim=(1, 2, 3), keepdim=True)
        )


def _backward_product(
    scale: float,
    chunk: Chunk,
    d_scores: Tensor,
    inputs: Inputs,
    query: str,
    keys: str,
    gradients: dict[str, Tensor],
) -> None:
    """Gradients of scale · query · keysᵀ."""
    if query in gradients:
        multiply(chunk.of(gradients[query]), d_scores, chunk.keys_of(getattr(inputs, keys)), scale)
    if keys in gradients:
        chunk.add_product(gradients[keys], d_scores, chunk.of(getattr(inputs, query)), scale)
