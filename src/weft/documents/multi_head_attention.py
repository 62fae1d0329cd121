"""Multi-head attention with a backward written by hand, as the document on the C++ class `Attention` describes it.

Equation::

    Q = X_q·W_Q    K = X_k·W_K    V = X_v·W_V      split into heads of width D = d_model / num_heads
    A = softmax(Q·Kᵀ·D^-½)        O = A·V          Y = concat(O)·W_O

Backward, with the weights as they were in the forward::

    dW_O = concat(O)ᵀ·dY          dO = split(dY·W_Oᵀ)
    dA = dO·Vᵀ                    dV = Aᵀ·dO
    dS = A ⊙ (dA − rowsum(dA ⊙ A))
    dQ = dS·K·D^-½                dK = dSᵀ·Q·D^-½
    dW_Q = X_qᵀ·merge(dQ)         dX_q = merge(dQ)·W_Qᵀ        and likewise for K and V
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from weft.attention.once import first_derivatives_only
from weft.attention.reference import softmax_or_zero
from weft.errors import ConfigError, DtypeError, ShapeError


class MultiHeadAttention(nn.Module):
    """Multi-head attention over separate query, key and value inputs, with an explicit backward.

    The weights are stored as ``(d_model, d_model)`` and multiply from the right, X·W, as in the
    document; they are updated by an optimiser outside. One plain SGD step is the document's update.

    Args:
        d_model: Width of inputs and outputs.
        num_heads: Number of heads; divides ``d_model``.

    Raises:
        ConfigError: ``num_heads`` does not divide ``d_model``.

    Source:
        Vaswani et al. 2017, §3.2; the document's "Key Components Analysis of Attention Class".

    Differs from the spec:
        dQ is dS·K (the document transposes dS); input gradients use the weights of the forward, not
        the updated ones, and are not multiplied by a learning rate; W_O gets its gradient; Q alone is
        scaled, once; heads are split; padding is masked in forward and backward alike, by keys, and a
        row that sees nothing gives zero; weights start Xavier-uniform, not standard normal; a
        remainder of d_model / num_heads raises instead of being cut off.
    """

    def __init__(self, d_model: int = 512, num_heads: int = 8) -> None:
        super().__init__()
        if d_model < 1 or num_heads < 1 or d_model % num_heads:
            raise ConfigError(f"num_heads is {num_heads}; it must divide d_model, which is {d_model}")
        self.d_model = d_model
        self.num_heads = num_heads
        self.query_weights = nn.Parameter(torch.empty(d_model, d_model))
        self.key_weights = nn.Parameter(torch.empty(d_model, d_model))
        self.value_weights = nn.Parameter(torch.empty(d_model, d_model))
        self.output_weights = nn.Parameter(torch.empty(d_model, d_model))
        for weight in self.parameters():
            nn.init.xavier_uniform_(weight)

    @property
    def scale_factor(self) -> float:
        """D^-½, applied once to the scores."""
        return (self.d_model // self.num_heads) ** -0.5

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend from ``query`` to ``key`` and ``value``.

        Args:
            query: ``(batch, query, d_model)``.
            key: ``(batch, key, d_model)``.
            value: ``(batch, key, d_model)``.
            mask: ``(batch, key)`` bool, True = attend.

        Returns:
            ``(batch, query, d_model)``.

        Raises:
            ShapeError: Shapes that do not fit.
            DtypeError: A mask that is not boolean.
        """
        self._check(query, key, value, mask)
        return _MultiHead.apply(
            query,
            key,
            value,
            self.query_weights,
            self.key_weights,
            self.value_weights,
            self.output_weights,
            mask,
            self.num_heads,
        )

    def attention_weights(self, query: Tensor, key: Tensor, mask: Tensor | None = None) -> Tensor:
        """A, the weights of :meth:`forward`, ``(batch, heads, query, key)``; a row that sees nothing is 0.

        Raises:
            ShapeError: Shapes that do not fit.
            DtypeError: A mask that is not boolean.
        """
        self._check(query, key, key, mask)
        heads = self.num_heads
        return _weights(
            _split(query @ self.query_weights, heads), _split(key @ self.key_weights, heads), mask
        )

    def _check(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            if tensor.dim() != 3 or tensor.shape[2] != self.d_model or tensor.shape[0] != query.shape[0]:
                raise ShapeError(
                    f"{name} has shape {tuple(tensor.shape)}; with query {tuple(query.shape)} it must be "
                    f"({query.shape[0]}, length, {self.d_model})"
                )
        if key.shape[1] != value.shape[1]:
            raise ShapeError(f"key {tuple(key.shape)} and value {tuple(value.shape)} differ in length")
        if mask is not None:
            if mask.dtype != torch.bool:
                raise DtypeError(f"mask is {mask.dtype}; it must be torch.bool with True = attend")
            if tuple(mask.shape) != tuple(key.shape[:2]):
                raise ShapeError(
                    f"mask has shape {tuple(mask.shape)}; (batch, key) is {tuple(key.shape[:2])}"
                )


def _weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(Q·Kᵀ·D^-½) over the keys that the mask lets through."""
    scores = (query @ key.transpose(-2, -1)) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None, None], float("-inf"))
    return softmax_or_zero(scores)


def _split(x: Tensor, heads: int) -> Tensor:
    """``(batch, length, d_model)`` to ``(batch, heads, length, D)``."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _merge(x: Tensor) -> Tensor:
    """``(batch, heads, length, D)`` to ``(batch, length, d_model)``."""
    return x.transpose(1, 2).flatten(2)


def _by_weights(inputs: Tensor, gradient: Tensor) -> Tensor:
    """Xᵀ·dY over batch and positions, ``(d_model, d_model)``."""
    return inputs.flatten(0, 1).T @ gradient.flatten(0, 1)


class _MultiHead(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x_q: Tensor, x_k: Tensor, x_v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor,
        mask: Tensor | None, heads: int,
    ) -> Tensor:  # fmt: skip
        query, key, value = _split(x_q @ w_q, heads), _split(x_k @ w_k, heads), _split(x_v @ w_v, heads)
        weights = _weights(query, key, mask).to(value.dtype)
        merged = _merge(weights @ value)
        ctx.scale, ctx.heads = query.shape[-1] ** -0.5, heads
        ctx.save_for_backward(x_q, x_k, x_v, w_q, w_k, w_v, w_o, query, key, value, weights, merged)
        return merged @ w_o

    @staticmethod
    @first_derivatives_only("the explicit backward", hint="attend(…, path='reference') has them")
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the base is untyped
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[Tensor | None, ...]:
        (d_y,) = grad_outputs
        # Under autocast the forward multiplied in half precision, and the backward runs outside of it.
        x_q, x_k, x_v, w_q, w_k, w_v, w_o, query, key, value, weights, merged = (
            tensor.to(d_y.dtype) for tensor in ctx.saved_tensors
        )
        d_w_o = _by_weights(merged, d_y)
        d_o = _split(d_y @ w_o.T, ctx.heads)
        d_a = d_o @ value.transpose(-2, -1)
        d_v = _merge(weights.transpose(-2, -1) @ d_o)
        d_s = weights * (d_a - (d_a * weights).sum(dim=-1, keepdim=True))
        d_q = _merge(d_s @ key) * ctx.scale
        d_k = _merge(d_s.transpose(-2, -1) @ query) * ctx.scale
        return (
            d_q @ w_q.T,
            d_k @ w_k.T,
            d_v @ w_v.T,
            _by_weights(x_q, d_q),
            _by_weights(x_k, d_k),
            _by_weights(x_v, d_v),
            d_w_o,
            None,
            None,
        )
