"""A backward whose own derivative nobody has written: asked for, it is refused, never taken for zero.

``torch.autograd.function.once_differentiable`` refuses only where what comes into the backward has a gradient itself.
Below a loss that is linear in the output it has none, and the second derivatives of keys, queries and values would be
left out without a word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from weft.errors import ConfigError

Backward = Callable[..., tuple[Tensor | None, ...]]


def first_derivatives_only(what: str, hint: str = "use path='reference'") -> Callable[[Backward], Backward]:
    """A decorator for a ``backward``; ``what`` it is the backward of, and the way out, stand in the error.

    Raises:
        ConfigError: From the derivative of a gradient that was taken with ``create_graph=True``.
    """

    def decorate(backward: Backward) -> Backward:
        @wraps(backward)
        def run(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
            with torch.no_grad():
                gradients = backward(ctx, *grad_outputs)
            if not torch.is_grad_enabled():
                return gradients
            return tuple(
                # torch types Function.apply as Any | None.
                None if gradient is None else _Refused.apply(what, hint, gradient.requires_grad_())
                for gradient in gradients
            )

        return run

    return decorate


class _Refused(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, what: str, hint: str, gradient: Tensor) -> Tensor:
        ctx.what, ctx.hint = what, hint
        return gradient.view_as(gradient)

    @staticmethod
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the base is untyped
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[None, None, Tensor]:
        raise ConfigError(f"{ctx.what} has no second derivatives", hint=ctx.hint)
