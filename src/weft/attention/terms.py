"""What a conditioner hands to :func:`weft.attention.attend`: a prefix, a decay, a quasi-attention.

Every term holds tensors only, already split into heads. Shapes are written
``(batch, heads, query, key)``; ``P`` is the number of prefix tokens, ``D`` the width of a head.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import torch
from torch import Tensor

from weft.errors import ConfigError, with_article

DecayMode = Literal["scores", "weights"]
Gate = Literal["row", "pair"]


def finite(name: str, value: object, hint: str | None = None) -> None:
    """Check a number that no gradient reaches; in a compiled graph it is a symbol, and passes.

    Raises:
        ConfigError: It is a tensor, or no finite number.
    """
    if isinstance(value, Tensor):
        raise ConfigError(f"{name} is a tensor, which would get no gradient; it must be a number", hint=hint)
    if not torch.compiler.is_compiling() and not (isinstance(value, Real) and math.isfinite(value)):
        raise ConfigError(f"{name} is {value!r}; it must be a finite number")


@dataclass(frozen=True)
class Prefix:
    """Keys and values that every query sees before the tokens' own; never masked, never decayed.

    Args:
        key: ``(batch, heads, P, D)``.
        value: ``(batch, heads, P, D)``.
    """

    key: Tensor
    value: Tensor


@dataclass(frozen=True)
class Decay:
    """A factor per (query, key) pair.

    ``mode="scores"`` multiplies the logits, S ⊙ F. ``mode="weights"`` multiplies the weights and
    renormalises, which equals adding log F to the logits.

    Args:
        factor: F, broadcastable to ``(batch, heads, query, key)``; on weights F ≥ 0, and 0 hides a key.
        mode: ``"scores"`` or ``"weights"``.

    Raises:
        ConfigError: Another mode.
    """

    factor: Tensor
    mode: DecayMode

    def __post_init__(self) -> None:
        if self.mode not in ("scores", "weights"):
            raise ConfigError(f"Decay.mode is {self.mode!r}; it must be 'scores' or 'weights'")


@dataclass(frozen=True)
class Quasi:
    """A signed attention beside the softmax: (Λ ⊙ G) · value is added to the output.

    G = α · sigmoid(query · keyᵀ · D^-½), 0 where a mask forbids;
    Λ_ij = 1 − β·λQ_i − γ·λK_i (``gate="row"``) or 1 − β·λQ_i − γ·λK_j (``gate="pair"``).

    Args:
        query: Context query, ``(batch, heads, query, D)``.
        key: Context key, ``(batch, heads, key, D)``.
        lambda_query: λQ in (0, 1), ``(batch, heads, query)``.
        lambda_key: λK in (0, 1), ``(batch, heads, key)``.
        alpha: α, a number or ``(batch, 1, 1, 1)``; 1/n with n the number of real tokens when normalised.
        beta: β.
        gamma: γ.
        gate: ``"row"`` as the published code computes it, ``"pair"`` as the paper writes it.

    Raises:
        ConfigError: Another gate, β or γ as a tensor, or one of α, β and γ that is no finite number.
    """

    query: Tensor
    key: Tensor
    lambda_query: Tensor
    lambda_key: Tensor
    alpha: float | Tensor = 1.0
    beta: float = 1.0
    gamma: float = 1.0
    gate: Gate = "row"

    def __post_init__(self) -> None:
        if self.gate not in ("row", "pair"):
            raise ConfigError(f"Quasi.gate is {self.gate!r}; it must be 'row' or 'pair'")
        if not isinstance(self.alpha, Tensor):
            finite("Quasi.alpha", self.alpha)
        for name in ("beta", "gamma"):
            finite(f"Quasi.{name}", getattr(self, name), hint="multiply it into the λ that it stands before")


@dataclass(frozen=True)
class Terms:
    """The terms of one layer; any of them, alone or together.

    Raises:
        ConfigError: One of another type.
    """

    prefix: Prefix | None = None
    decay: Decay | None = None
    quasi: Quasi | None = None

    def __post_init__(self) -> None:
        for name, kind in (("prefix", Prefix), ("decay", Decay), ("quasi", Quasi)):
            given = getattr(self, name)
            if given is not None and not isinstance(given, kind):
                what = f"Terms.{name} is {with_article(type(given).__name__)}; it must be {with_article(kind.__name__)}"
                raise ConfigError(what, hint=f"Terms({name}={kind.__name__}(…))")

    @property
    def empty(self) -> bool:
        """Whether there is nothing to add to plain attention."""
        return self.prefix is None and self.decay is None and self.quasi is None

    @staticmethod
    def combine(parts: Iterable[Terms]) -> Terms:
        """Join the terms of several conditioners: prefixes concatenate, decays multiply.

        Raises:
            ConfigError: Two quasi terms, or two decays of different modes.
        """
        prefix: Prefix | None = None
        decay: Decay | None = None
        quasi: Quasi | None = None
        for part in parts:
            if part.prefix is not None:
                prefix = part.prefix if prefix is None else _join_prefixes(prefix, part.prefix)
            if part.decay is not None:
                decay = part.decay if decay is None else _join_decays(decay, part.decay)
            if part.quasi is not None:
                if quasi is not None:
                    raise ConfigError("two quasi-attention terms in one layer: their sum is not defined")
                quasi = part.quasi
        return Terms(prefix, decay, quasi)


def _join_prefixes(first: Prefix, second: Prefix) -> Prefix:
    return Prefix(torch.cat([first.key, second.key], dim=2), torch.cat([first.value, second.value], dim=2))


def _join_decays(first: Decay, second: Decay) -> Decay:
    if first.mode != second.mode:
        raise ConfigError(
            f"decays of modes {first.mode!r} and {second.mode!r} in one layer: F multiplies either scores or weights"
        )
    return Decay(first.factor * second.factor, first.mode)
