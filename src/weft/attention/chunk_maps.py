"""The maps of one chunk: scores, decay, softmax and λ·sigmoid, in memory that the next chunk writes over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from weft.attention.chunks import Chunk, Part
from weft.attention.workspace import Workspace

workspace = Workspace()


@dataclass(frozen=True)
class Plan:
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
    keeps_maps: bool = False

    def of_part(self, number: int) -> Plan:
        """The plan for one part, with dropout draws of its own."""
        return replace(self, seed=self.seed + (number << 32))


@dataclass
class Inputs:
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

    def of_part(self, part: Part, plan: Plan) -> Inputs:
        """The same inputs for a part of the batch, keys that nobody sees left out; views."""
        share = share_of(vars(self), part, plan)
        bias = share["bias"]
        # One row of padding is looked at cheaply, and mostly nothing of it is left in a part.
        if bias is not None and bias.device.type == "cpu" and bias.shape[2] == 1 and not bias.any():
            share["bias"] = None
        return Inputs(**share)  # pyright: ignore[reportArgumentType] - as in self

    def without_alpha(self) -> Inputs:
        """The same inputs with α = 1."""
        return replace(self, alpha=None)


def share_of(tensors: Mapping[str, Tensor | None], part: Part, plan: Plan) -> dict[str, Tensor | None]:
    """Views of a part of the inputs, or of their gradients, by name."""
    key_dims = {"keys": 2, "values": 2, "context_key": 2, "bias": 3, "factor": 3}
    if plan.gate == "pair":
        key_dims["lambda_key"] = 2
    extra = {"keys": plan.prefix_length, "values": plan.prefix_length}
    return {
        name: None if tensor is None else part.of(tensor, key_dims.get(name), extra.get(name, 0))
        for name, tensor in tensors.items()
    }


@dataclass(frozen=True)
class Kept:
    """The maps of a whole part, A and σ, that its forward leaves for its backward.

    Args:
        weights: ``(batch, heads, query, P + key)``.
        sigmoid: ``(batch, heads, query, key)``, where there is quasi-attention.
        scores: ``(batch, heads, query, key)``, raw, where the factor's gradient needs them.
    """

    weights: Tensor
    sigmoid: Tensor | None
    scores: Tensor | None

    @staticmethod
    def room(plan: Plan, inputs: Inputs, *, scores: bool) -> Kept:
        """Uninitialised maps for a part."""
        rows, all_keys = inputs.query.shape[:3], inputs.keys.shape[2]
        tokens = all_keys - plan.prefix_length

        def empty(keys: int) -> Tensor:
            return inputs.query.new_empty((*rows, keys), dtype=plan.dtype)

        quasi = inputs.context_query is not None
        return Kept(empty(all_keys), empty(tokens) if quasi else None, empty(tokens) if scores else None)

    def of(self, chunk: Chunk) -> Kept:
        """A chunk's share."""
        return Kept(
            chunk.of(self.weights),
            None if self.sigmoid is None else chunk.of(self.sigmoid),
            None if self.scores is None else chunk.of(self.scores),
        )


@dataclass
class Maps:
    """One chunk's maps: A, σ and α·Λ; F and the raw scores where the factor's gradient needs them."""

    weights: Tensor
    sigmoid: Tensor | None
    gate: Tensor | None
    factor: Tensor | None
    scores: Tensor | None
    is_kept: bool

    def total(self, length: int, dropout: Tensor | None) -> Tensor:
        """T = (A + [0 ‖ Λ⊙G]) ⊙ M, written over A unless that is kept for the backward."""
        if self.sigmoid is None and dropout is None:
            return self.weights
        total = take("total", self.weights, self.weights.shape) if self.is_kept else self.weights
        unchanged = self.weights if self.sigmoid is None else self.weights[..., :length]
        if self.is_kept:
            total[..., : unchanged.shape[-1]].copy_(unchanged)
        if self.sigmoid is not None and self.gate is not None:
            torch.addcmul(self.weights[..., length:], self.sigmoid, self.gate, out=total[..., length:])
        return total if dropout is None else total.mul_(dropout)


def take(name: str, like: Tensor, shape: torch.Size | tuple[int, ...]) -> Tensor:
    """Room for a map of ``like``'s type in the workspace."""
    return workspace.take(name, shape, like.dtype, like.device)


def product(plan: Plan, name: str, chunk: Chunk, query: Tensor, keys: Tensor, scale: float = 1.0) -> Tensor:
    """The product scale · query · keysᵀ of one chunk, in the workspace under ``name``."""
    room = take(name, query, (*chunk.of(query).shape[:3], keys.shape[2]))
    return chunk.product(room, query, keys, scale).to(plan.dtype)


def form(plan: Plan, inputs: Inputs, chunk: Chunk, kept: Kept | None, *, scores: bool) -> Maps:
    """Compute the maps of one chunk: in the workspace, or in the room that keeps them.

    Args:
        plan: Of the part.
        inputs: Of the part.
        chunk: Which chunk.
        kept: The chunk's share of the part's room, if the maps are kept.
        scores: Whether the raw scores are wanted beside the weights.
    """
    length = plan.prefix_length
    logits = product(plan, "scores", chunk, inputs.query, inputs.keys, plan.scale)
    target = logits if kept is None else kept.weights
    before, factor, blind = None, None, None
    if inputs.factor is not None:
        factor = chunk.of(inputs.factor)
        if plan.decay_mode == "weights":
            logits[..., length:].add_(factor.log())
        elif scores:
            before = logits[..., length:]
            if kept is not None and kept.scores is not None:
                before = kept.scores.copy_(before)
                logits[..., length:].mul_(factor)
            else:
                decayed = take("decayed", logits, logits.shape)
                decayed[..., :length].copy_(logits[..., :length])
                torch.mul(before, factor, out=decayed[..., length:])
                logits = target = decayed
        else:
            logits[..., length:].mul_(factor)
    if inputs.bias is not None:
        logits[..., length:].add_(chunk.of(inputs.bias))
    if plan.has_blind_rows:
        blind = logits.isneginf().all(dim=-1, keepdim=True)
        logits.masked_fill_(blind, 0.0)
    weights = torch.ops.aten._softmax.out(logits, -1, half_to_float=False, out=target)
    if blind is not None:
        weights.masked_fill_(blind, 0.0)
    if inputs.context_query is None or inputs.context_key is None:
        return Maps(weights, None, None, factor, before, kept is not None)
    sigmoid = product(plan, "sigmoid", chunk, inputs.context_query, inputs.context_key, plan.scale)
    sigmoid = torch.sigmoid(sigmoid, out=sigmoid if kept is None else kept.sigmoid)
    if inputs.bias is not None:
        sigmoid.mul_(chunk.of(inputs.bias).exp())
    return Maps(weights, sigmoid, gate(plan, inputs, chunk), factor, before, kept is not None)


def recall(plan: Plan, inputs: Inputs, chunk: Chunk, kept: Kept) -> Maps:
    """The maps that the forward kept."""
    share = kept.of(chunk)
    return Maps(
        share.weights,
        share.sigmoid,
        None if share.sigmoid is None else gate(plan, inputs, chunk),
        None if inputs.factor is None else chunk.of(inputs.factor),
        share.scores,
        is_kept=True,
    )


def gate(plan: Plan, inputs: Inputs, chunk: Chunk) -> Tensor:
    """α·Λ: ``(…, query, 1)`` for the row gate, ``(…, query, key)`` for the pair gate."""
    assert inputs.lambda_query is not None
    assert inputs.lambda_key is not None
    by_query = chunk.of(inputs.lambda_query).unsqueeze(-1)
    if plan.gate == "row":
        by_key = chunk.of(inputs.lambda_key).unsqueeze(-1)
    else:
        by_key = chunk.keys_of(inputs.lambda_key).unsqueeze(-2)
    value = 1.0 - plan.beta * by_query - plan.gamma * by_key
    return value * (plan.alpha if inputs.alpha is None else chunk.batch_of(inputs.alpha))


def dropout(plan: Plan, chunk: Chunk, like: Tensor) -> Tensor:
    """The chunk's dropout mask, scaled by 1/(1 − p); the same at every call."""
    generator = torch.Generator(like.device)
    generator.manual_seed(plan.seed + chunk.index)
    mask = take("dropout", like, like.shape)
    mask.bernoulli_(1.0 - plan.dropout_p, generator=generator)
    return mask.div_(1.0 - plan.dropout_p)
