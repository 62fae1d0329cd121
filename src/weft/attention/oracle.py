"""The oracle: every variant of attention in NumPy, float64, with hand-derived gradients.

It shares no code and no library with the torch paths, so that an agreement means something. It is
written to be read beside the equations of :func:`weft.attention.attend`; it is slow and keeps every map.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """The operands of one attention; shapes as in :func:`weft.attention.attend`, all float64.

    Args:
        query: ``(batch, heads, query, D)``.
        key: ``(batch, heads, key, D)``.
        value: ``(batch, heads, key, D)``.
        allowed: bool ``(batch, heads, query, key)``; None = all.
        prefix_key: ``(batch, heads, P, D)``.
        prefix_value: ``(batch, heads, P, D)``.
        factor: F ``(batch, heads, query, key)``.
        decay_mode: ``"scores"`` or ``"weights"``.
        context_query: ``(batch, heads, query, D)``.
        context_key: ``(batch, heads, key, D)``.
        lambda_query: ``(batch, heads, query)``.
        lambda_key: ``(batch, heads, key)``.
        alpha: ``(batch, 1, 1, 1)`` or a number.
        beta: β.
        gamma: γ.
        gate: ``"row"`` or ``"pair"``.
    """

    query: Array
    key: Array
    value: Array
    allowed: NDArray[np.bool_] | None = None
    prefix_key: Array | None = None
    prefix_value: Array | None = None
    factor: Array | None = None
    decay_mode: str = "scores"
    context_query: Array | None = None
    context_key: Array | None = None
    lambda_query: Array | None = None
    lambda_key: Array | None = None
    alpha: Array | float = 1.0
    beta: float = 1.0
    gamma: float = 1.0
    gate: str = "row"


@dataclass(frozen=True)
class Forward:
    """Output and every intermediate map."""

    output: Array
    weights: Array
    quasi: Array | None
    gate: Array | None
    raw_scores: Array
    sigmoid: Array | None
    allowed: NDArray[np.bool_]
    log_total: Array


def forward(x: Inputs) -> Forward:
    """Output and maps."""
    scale = x.query.shape[-1] ** -0.5
    raw = np.einsum("bhqd,bhkd->bhqk", x.query, x.key) * scale
    allowed = np.ones(raw.shape, dtype=bool) if x.allowed is None else np.broadcast_to(x.allowed, raw.shape)
    scores = raw
    if x.factor is not None:
        with np.errstate(divide="ignore"):  # F = 0 hides a key
            scores = raw * x.factor if x.decay_mode == "scores" else raw + np.log(x.factor)
    # Unnormalised weights relative to the row's largest visible score.
    visible = np.where(allowed, scores, -np.inf)
    if x.prefix_key is not None:
        prefix_scores = np.einsum("bhqd,bhpd->bhqp", x.query, x.prefix_key) * scale
        visible = np.concatenate([prefix_scores, visible], axis=-1)
    top = visible.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    mass = np.exp(visible - top)
    total = mass.sum(axis=-1, keepdims=True)
    weights = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
    values = x.value if x.prefix_value is None else np.concatenate([x.prefix_value, x.value], axis=2)
    output = np.einsum("bhqk,bhkd->bhqd", weights, values)
    quasi = gate = sigmoid = None
    if x.context_query is not None and x.context_key is not None:
        assert x.lambda_query is not None and x.lambda_key is not None
        logits = np.einsum("bhqd,bhkd->bhqk", x.context_query, x.context_key) * scale
        sigmoid = np.where(allowed, 1.0 / (1.0 + np.exp(-logits)), 0.0)
        quasi = x.alpha * sigmoid
        other = x.lambda_key[..., :, None] if x.gate == "row" else x.lambda_key[..., None, :]
        gate = np.broadcast_to(1.0 - x.beta * x.lambda_query[..., :, None] - x.gamma * other, raw.shape)
        output = output + np.einsum("bhqk,bhkd->bhqd", gate * quasi, x.value)
    log_total = top + np.log(total, out=np.full_like(total, np.inf), where=total > 0)
    return Forward(output, weights, quasi, gate, raw, sigmoid, allowed, log_total)


def gradients(x: Inputs, d_output: Array) -> dict[str, Array]:
    """Gradient of Σ output ⊙ d_output in every operand, by name.

    With T = A + [0 ‖ Λ⊙G]: dT = dO·Vᵀ, dV = Tᵀ·dO; softmax: dS = A ⊙ (dT − rowsum(dT ⊙ A)); decay on
    scores: dF = dS ⊙ S, then dS ← dS ⊙ F; on weights: dF = exp(S − log Σ exp)·(dT − rowsum), which is dS / F
    where F > 0; dQ = dS·K·D^-½, dK = dSᵀ·Q·D^-½.
    """
    maps = forward(x)
    scale = x.query.shape[-1] ** -0.5
    prefix = 0 if x.prefix_key is None else x.prefix_key.shape[2]
    result: dict[str, Array] = {}

    values = x.value if x.prefix_value is None else np.concatenate([x.prefix_value, x.value], axis=2)
    d_weights = np.einsum("bhqd,bhkd->bhqk", d_output, values)
    d_values = np.einsum("bhqk,bhqd->bhkd", maps.weights, d_output)
    if maps.quasi is not None and maps.gate is not None:
        d_values[:, :, prefix:] += np.einsum("bhqk,bhqd->bhkd", maps.gate * maps.quasi, d_output)
        result |= _quasi_gradients(x, maps, d_weights[..., prefix:], scale)
    result["value"] = d_values[:, :, prefix:]

    row = (d_weights * maps.weights).sum(axis=-1, keepdims=True)
    d_scores = maps.weights * (d_weights - row)
    d_tokens = d_scores[..., prefix:]
    if x.factor is not None:
        if x.decay_mode == "scores":
            result["factor"] = d_tokens * maps.raw_scores
            d_tokens = d_tokens * x.factor
        else:
            share = np.where(maps.allowed, np.exp(maps.raw_scores - maps.log_total), 0.0)
            result["factor"] = share * (d_weights - row)[..., prefix:]
    d_query = np.einsum("bhqk,bhkd->bhqd", d_tokens, x.key) * scale
    result["key"] = np.einsum("bhqk,bhqd->bhkd", d_tokens, x.query) * scale
    if x.prefix_key is not None:
        d_prefix = d_scores[..., :prefix]
        d_query = d_query + np.einsum("bhqp,bhpd->bhqd", d_prefix, x.prefix_key) * scale
        result["prefix_key"] = np.einsum("bhqp,bhqd->bhpd", d_prefix, x.query) * scale
        result["prefix_value"] = d_values[:, :, :prefix]
    result["query"] = d_query
    return result


def _quasi_gradients(x: Inputs, maps: Forward, d_total: Array, scale: float) -> dict[str, Array]:
    assert maps.quasi is not None and maps.gate is not None and maps.sigmoid is not None
    assert x.context_query is not None and x.context_key is not None
    d_gate = d_total * maps.quasi
    d_logits = d_total * maps.gate * x.alpha * maps.sigmoid * (1.0 - maps.sigmoid)
    key_axis = -1 if x.gate == "row" else -2
    d_alpha = (d_total * maps.gate * maps.sigmoid).sum(axis=(1, 2, 3), keepdims=True)
    return {
        "lambda_query": -x.beta * d_gate.sum(axis=-1),
        "lambda_key": -x.gamma * d_gate.sum(axis=key_axis),
        "alpha": d_alpha,
        "context_query": np.einsum("bhqk,bhkd->bhqd", d_logits, x.context_key) * scale,
        "context_key": np.einsum("bhqk,bhqd->bhkd", d_logits, x.context_query) * scale,
    }
