"""Attention in chunks that stay in the cache, with a backward that recomputes instead of remembering.

One pass over chunks of (batch, heads, query rows): scores, decay, softmax and λ·sigmoid are formed in
one small buffer, and a single product with the values finishes the chunk. Nothing of size query × key is
kept between forward and backward. With T = A + [0 ‖ Λ⊙G] (dropped out by M), the backward of a chunk is

    dT = (dO·Vᵀ) ⊙ M          dV += (T ⊙ M)ᵀ·dO        dS = A ⊙ (dT − rowsum(dT ⊙ A))
    dF = dS ⊙ S, dS ← dS ⊙ F  (decay on scores)         dF = dS / F  (decay on weights)
    dQ = dS·K·D^-½            dK += dSᵀ·Q·D^-½
    dG' = dT ⊙ Λ·α·σ(1 − σ)   dC_Q = dG'·C_K·D^-½       dC_K += dG'ᵀ·C_Q·D^-½
    dΛ = dT ⊙ G               dλ_Q = −β·rowsum(dΛ)      dλ_K = −γ·rowsum(dΛ) (row) or −γ·colsum(dΛ) (pair)

Dropout is the same single mask on T as on the reference path; each chunk draws it from its own seed, so
that the backward draws it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from weft.attention.chunks import CHUNK_BYTES, Chunk, Part, chunks, parts
from weft.attention.problem import Problem

LONG = 512
"""From how many keys on gradients of keys and values are accumulated transposed."""


@dataclass(frozen=True)
class _Plan:
    """What a chunk needs to know that is not a tensor."""

    scale: float
    prefix_length: int
    decay_mode: str | None
    gate: str
    alpha: float
    beta: float
    gamma: float
    dropout_p: float
    has_blind_rows: bool
    seed: int
    chunk_elements: int
    dtype: torch.dtype
    parts: tuple[Part, ...]

    def of_part(self, number: int) -> _Plan:
        """The plan for one part, with dropout draws of its own."""
        return replace(self, seed=self.seed + (number << 32))


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
    plan = _Plan(
        scale=problem.scale,
        prefix_length=problem.prefix_length,
        decay_mode=None if decay is None else decay.mode,
        gate="row" if quasi is None else quasi.gate,
        alpha=1.0 if isinstance(alpha, Tensor) else alpha,
        beta=0.0 if quasi is None else quasi.beta,
        gamma=0.0 if quasi is None else quasi.gamma,
        dropout_p=problem.dropout_p,
        has_blind_rows=allowed is not None and problem.prefix_length == 0 and _any_blind(allowed),
        seed=int(torch.randint(2**61, ()).item()) if problem.dropout_p else 0,
        chunk_elements=room,
        # The maps are as wide as the products that make them; fp16 alone is widened, for its range.
        dtype=torch.float32 if problem.query.dtype == torch.float16 else problem.query.dtype,
        # Where one entry does not fill a chunk, chunks of several entries gain more than keys left out.
        parts=parts(allowed, batch, keys, whole=heads * rows * keys < room),
    )
    dtype = problem.query.dtype
    return _Chunked.apply(
        plan,
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
    )  # pyright: ignore[reportReturnType] - torch types Function.apply as Any | None


def _any_blind(allowed: Tensor) -> bool:
    """Whether some row sees no key; taken for granted on a GPU, where asking would wait for the device."""
    return allowed.device.type != "cpu" or not bool(allowed.any(dim=-1).all())


@dataclass
class _Inputs:
    """The tensors of one call, as saved for the backward."""

    query: Tensor
    keys: Tensor
    values: Tensor
    bias: Tensor | None
    factor: Tensor | None
    context_query: Tensor | None
    context_key: Tensor | None
    lambda_query: Tensor | None
    lambda_key: Tensor | None
    alpha: Tensor | None

    def of_part(self, part: Part, plan: _Plan) -> _Inputs:
        """The same inputs for a part of the batch, keys that nobody sees left out; views."""
        return _Inputs(**_share(vars(self), part, plan))  # pyright: ignore[reportArgumentType] - as in self

    def without_alpha(self) -> _Inputs:
        """The same inputs with α = 1."""
        return replace(self, alpha=None)


def _share(tensors: Mapping[str, Tensor | None], part: Part, plan: _Plan) -> dict[str, Tensor | None]:
    """Views of a part of the inputs, or of their gradients, by name."""
    key_dims = {"keys": 2, "values": 2, "context_key": 2, "bias": 3, "factor": 3}
    if plan.gate == "pair":
        key_dims["lambda_key"] = 2
    extra = {"keys": plan.prefix_length, "values": plan.prefix_length}
    return {
        name: None if tensor is None else part.of(tensor, key_dims.get(name), extra.get(name, 0))
        for name, tensor in tensors.items()
    }


@dataclass
class _Weights:
    """One chunk's maps: raw scores (kept only where the factor's gradient needs them), F, A, σ and α·Λ."""

    scores: Tensor | None
    factor: Tensor | None
    weights: Tensor
    sigmoid: Tensor | None
    gate: Tensor | None

    def total(self, length: int) -> Tensor:
        """T = A + [0 ‖ Λ⊙G], written over A."""
        if self.sigmoid is not None and self.gate is not None:
            self.weights[..., length:].addcmul_(self.sigmoid, self.gate)
        return self.weights


def _weights(plan: _Plan, inputs: _Inputs, chunk: Chunk, *, keep_scores: bool) -> _Weights:
    """Compute the maps of one chunk; the caller owns every tensor in the result."""
    length = plan.prefix_length
    scores = chunk.product(inputs.query, inputs.keys, plan.scale).to(plan.dtype)
    before, factor, blind = None, None, None
    if inputs.factor is not None:
        factor = chunk.of(inputs.factor)
        if plan.decay_mode == "weights":
            scores[..., length:].add_(factor.log())
        elif keep_scores:
            before = scores[..., length:]
            scores = scores.clone() if length else scores * factor
            if length:
                scores[..., length:].mul_(factor)
        else:
            scores[..., length:].mul_(factor)
    if inputs.bias is not None:
        bias = chunk.of(inputs.bias)
        scores[..., length:].add_(bias)
        if plan.has_blind_rows:
            blind = bias.isneginf().all(dim=-1, keepdim=True)
            scores.masked_fill_(blind, 0.0)
    weights = torch.softmax(scores, dim=-1)
    if blind is not None:
        weights.masked_fill_(blind, 0.0)
    if inputs.context_query is None or inputs.context_key is None:
        return _Weights(before, factor, weights, None, None)
    sigmoid = chunk.product(inputs.context_query, inputs.context_key, plan.scale).to(plan.dtype).sigmoid_()
    if inputs.bias is not None:
        sigmoid.mul_(chunk.of(inputs.bias).exp())
    return _Weights(before, factor, weights, sigmoid, _gate(plan, inputs, chunk))


def _gate(plan: _Plan, inputs: _Inputs, chunk: Chunk) -> Tensor:
    """α·Λ: ``(…, query, 1)`` for the row gate, ``(…, query, key)`` for the pair gate."""
    assert inputs.lambda_query is not None
    assert inputs.lambda_key is not None
    by_query = chunk.of(inputs.lambda_query).unsqueeze(-1)
    if plan.gate == "row":
        by_key = chunk.of(inputs.lambda_key).unsqueeze(-1)
    else:
        by_key = chunk.keys_of(inputs.lambda_key).unsqueeze(-2)
    gate = 1.0 - plan.beta * by_query - plan.gamma * by_key
    return gate * (plan.alpha if inputs.alpha is None else chunk.batch_of(inputs.alpha))


def _keep(plan: _Plan, chunk: Chunk, like: Tensor) -> Tensor:
    """The chunk's dropout mask, scaled by 1/(1 − p); the same at every call."""
    generator = torch.Generator(like.device)
    generator.manual_seed(plan.seed + chunk.index)
    kept = torch.empty_like(like).bernoulli_(1.0 - plan.dropout_p, generator=generator)
    return kept.div_(1.0 - plan.dropout_p)


class _Chunked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: _Plan, *tensors: Tensor | None) -> Tensor:
        inputs = _Inputs(*tensors)  # pyright: ignore[reportArgumentType] - the first three are never None
        ctx.plan = plan
        ctx.save_for_backward(*tensors)
        batch, heads, rows, _ = inputs.query.shape
        values = inputs.values
        # Laid out as (batch, query, heads, D), so that merging the heads afterwards is a view.
        output = values.new_empty((batch, rows, heads, values.shape[3])).transpose(1, 2)
        with torch.autocast(values.device.type, enabled=False):
            for number, part in enumerate(plan.parts):
                _forward_part(plan.of_part(number), inputs.of_part(part, plan), part.of(output))
        return output

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the base is untyped
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[Tensor | None, ...]:
        plan: _Plan = ctx.plan
        inputs = _Inputs(*ctx.saved_tensors)
        # Element 0 of needs_input_grad is the plan.
        wanted = dict(zip(vars(inputs), ctx.needs_input_grad[1:], strict=True))
        gradients = {
            name: _new_gradient(name, tensor, inputs, plan)
            for name, tensor in vars(inputs).items()
            if tensor is not None and wanted[name]
        }
        with torch.autocast(inputs.query.device.type, enabled=False):
            for number, part in enumerate(plan.parts):
                ours = {n: g for n, g in _share(gradients, part, plan).items() if g is not None}
                here, of_part = inputs.of_part(part, plan), plan.of_part(number)
                d_output = part.of(grad_outputs[0])
                for chunk in chunks(here.query, here.keys.shape[2], plan.chunk_elements):
                    _backward_chunk(of_part, here, chunk, d_output, ours)
        return (None, *(gradients.get(name) for name in vars(inputs)))


def _forward_part(plan: _Plan, inputs: _Inputs, output: Tensor) -> None:
    """Attend chunk by chunk into ``output``."""
    values = inputs.values
    for chunk in chunks(inputs.query, inputs.keys.shape[2], plan.chunk_elements):
        total = _weights(plan, inputs, chunk, keep_scores=False).total(plan.prefix_length)
        if plan.dropout_p:
            total.mul_(_keep(plan, chunk, total))
        chunk.of(output).copy_(torch.matmul(total.to(values.dtype), chunk.keys_of(values)))


def _new_gradient(name: str, tensor: Tensor, inputs: _Inputs, plan: _Plan) -> Tensor:
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
    if name == "factor" and tensor.shape == (*inputs.query.shape[:3], tokens):
        gradient = torch.empty_like(tensor, memory_format=torch.contiguous_format)
        for part in plan.parts:
            gradient[part.batch, ..., part.keys :] = 0.0
        return gradient
    return torch.zeros_like(tensor, memory_format=torch.contiguous_format)


def _backward_chunk(
    plan: _Plan, inputs: _Inputs, chunk: Chunk, d_output: Tensor, gradients: dict[str, Tensor]
) -> None:
    """Add one chunk's share to every gradient that is wanted."""
    dtype, length = inputs.query.dtype, plan.prefix_length
    maps = _weights(plan, inputs, chunk, keep_scores="factor" in gradients)
    d_out = chunk.of(d_output).to(dtype)
    d_total = chunk.product(d_output.to(dtype), inputs.values).to(maps.weights.dtype)
    kept = _keep(plan, chunk, d_total) if plan.dropout_p else None
    if kept is not None:
        d_total.mul_(kept)
    if maps.sigmoid is not None:
        _backward_quasi(plan, inputs, chunk, maps, d_total[..., length:], gradients)
    d_scores = torch._softmax_backward_data(d_total, maps.weights, -1, maps.weights.dtype)
    if "values" in gradients:
        total = maps.total(length)
        if kept is not None:
            total.mul_(kept)
        chunk.add_product(gradients["values"], total.to(dtype), d_out)
    if maps.factor is not None:
        d_tokens = d_scores[..., length:]
        if "factor" in gradients:
            _backward_factor(chunk.of(gradients["factor"]), d_tokens, maps)
        if plan.decay_mode == "scores":
            d_tokens.mul_(maps.factor)
    _backward_product(plan.scale, chunk, d_scores.to(dtype), inputs, "query", "keys", gradients)


def _backward_factor(target: Tensor, d_tokens: Tensor, maps: _Weights) -> None:
    """Gradient of F: dS ⊙ S (on scores) or dS / F (on weights), summed over what F was broadcast over."""
    assert maps.factor is not None
    if target.shape == d_tokens.shape:
        if maps.scores is None:
            torch.div(d_tokens, maps.factor, out=target)
        else:
            torch.mul(d_tokens, maps.scores, out=target)
    else:
        d_factor = d_tokens / maps.factor if maps.scores is None else d_tokens * maps.scores
        target.add_(d_factor.sum_to_size(target.shape))


def _backward_quasi(
    plan: _Plan, inputs: _Inputs, chunk: Chunk, maps: _Weights, d_total: Tensor, gradients: dict[str, Tensor]
) -> None:
    """Gradients of Λ, α and the context; ``d_total`` is read, never changed: the softmax needs it after."""
    assert maps.sigmoid is not None
    assert maps.gate is not None
    product = d_total * maps.sigmoid
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
    plan: _Plan, inputs: _Inputs, chunk: Chunk, product: Tensor, gradients: dict[str, Tensor]
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
        bare = _gate(plan, inputs.without_alpha(), chunk)
        target = chunk.batch_of(gradients["alpha"])
        target.add_(
            (product * bare if plan.gate == "pair" else by_row * bare).sum(dim=(1, 2, 3), keepdim=True)
        )


def _backward_product(
    scale: float,
    chunk: Chunk,
    d_scores: Tensor,
    inputs: _Inputs,
    query: str,
    keys: str,
    gradients: dict[str, Tensor],
) -> None:
    """Gradients of scale · query · keysᵀ."""
    if query in gradients:
        product = torch.matmul(d_scores, chunk.keys_of(getattr(inputs, keys)))
        chunk.of(gradients[query]).copy_(product.mul_(scale))
    if keys in gradients:
        chunk.add_product(gradients[keys], d_scores, chunk.of(getattr(inputs, query)), scale)
