"""The inputs of one attention call, checked once and passed to whichever path computes it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from weft.attention.terms import Decay, Terms, finite
from weft.errors import ConfigError, DtypeError, InputError, NonFiniteError, ShapeError, with_article


@dataclass(frozen=True)
class Problem:
    """One checked call of :func:`weft.attention.attend`; the shapes are those of its arguments."""

    query: Tensor
    key: Tensor
    value: Tensor
    key_mask: Tensor | None
    mask: Tensor | None
    terms: Terms
    dropout_p: float
    scale: float

    @property
    def prefix_length(self) -> int:
        """P, the number of prefix tokens."""
        return 0 if self.terms.prefix is None else self.terms.prefix.key.shape[2]

    def keys(self) -> Tensor:
        """``[prefix_key ‖ key]``, ``(batch, heads, P + key, D)``."""
        prefix = self.terms.prefix
        return self.key if prefix is None else _prepend(prefix.key, self.key)

    def values(self) -> Tensor:
        """``[prefix_value ‖ value]``, ``(batch, heads, P + key, D)``."""
        prefix = self.terms.prefix
        return self.value if prefix is None else _prepend(prefix.value, self.value)

    def rows(self, start: int, stop: int) -> Problem:
        """The same problem without quasi-attention for the query rows ``start`` to ``stop``."""
        decay = self.terms.decay
        if decay is not None and decay.factor.shape[2] > 1:
            decay = Decay(decay.factor[:, :, start:stop], decay.mode)
        mask = self.mask
        if mask is not None and mask.shape[2] > 1:
            mask = mask[:, :, start:stop]
        terms = Terms(self.terms.prefix, decay)
        return replace(self, query=self.query[:, :, start:stop], mask=mask, terms=terms)

    def allowed(self) -> Tensor | None:
        """The boolean masks as one, broadcastable to ``(batch, heads, query, key)``; None = all."""
        keys = None if self.key_mask is None else self.key_mask[:, None, None, :]
        if keys is None or self.mask is None:
            return self.mask if keys is None else keys
        return keys & self.mask

    def sighted(self) -> tuple[Tensor | None, Tensor | None]:
        """The masks where a row that sees nothing sees everything, and which rows these are, ``(…, query, 1)``.

        Kernels disagree on rows that see nothing: they are given something, and what comes of it is dropped.
        With a prefix there is no such row.
        """
        allowed = self.allowed()
        if allowed is None or self.prefix_length:
            return allowed, None
        blind = ~allowed.any(dim=-1, keepdim=True)
        return allowed | blind, blind

    @cached_property
    def least_factor(self) -> float:
        """The least factor of a decay on weights, NaN if one is NaN; a look that waits for a GPU."""
        decay = self.terms.decay
        assert decay is not None
        return float(decay.factor.detach().amin())

    def refuse_non_finite(self) -> None:
        """Look for NaN and infinity on the CPU; on a GPU, and in a compiled graph, the look would wait or break it.

        A mask hides a number, not what is none: on some way to the output or to a gradient it is multiplied by 0.

        Raises:
            NonFiniteError: In query, key or value, or in a term.
            InputError: A factor below 0 on weights.
        """
        if self.query.device.type != "cpu" or torch.compiler.is_compiling():
            return
        # A finite sum has finite terms: one cheap pass, no temporary. One that is not may be of large numbers, which a
        # second look settles. The output would not do: fused kernels can turn NaN keys into numbers.
        totals = (
            t.detach().sum(dtype=torch.promote_types(t.dtype, torch.float32)) for _, t in self.operands()
        )
        if not math.isfinite(sum(totals)):
            for name, tensor in self.operands():
                if not torch.isfinite(tensor.detach()).all():
                    raise NonFiniteError(
                        "NaN or infinity", where=name, hint="look at the inputs and at the last update"
                    )
        decay = self.terms.decay
        if decay is not None and decay.mode == "weights" and self.least_factor < 0:
            raise InputError(
                f"the least is {self.least_factor:g}; a weight is multiplied by a number from 0 on",
                where="decay factor",
                hint="0 hides a key; Decay(factor, 'scores') takes any number",
            )

    def sloped(self) -> Problem:
        """The same problem with a gradient where a factor on weights is 0, whose logarithm has none.

        There dF = exp(S − logsumexp)·(dT − rowsum), which is finite, but every path finds it as dS / F. A factor of
        next to nothing gives the same output and the right quotient; none is learned where a mask or a whole
        row of 0 hides it.
        """
        decay = self.terms.decay
        if decay is None or decay.mode != "weights" or not torch.is_grad_enabled():
            return self
        looks = decay.factor.device.type == "cpu" and not torch.compiler.is_compiling()
        if not decay.factor.requires_grad or (looks and self.least_factor > 0):
            return self
        factor = decay.factor.to(torch.promote_types(decay.factor.dtype, torch.bfloat16))
        allowed, bright = self.allowed(), factor > 0
        if not self.prefix_length:
            lit = (bright if allowed is None else bright & allowed).any(dim=-1, keepdim=True)
            factor = torch.where(lit, factor, 0.0)
            bright = bright | ~lit
        factor = torch.where(bright, factor, factor + torch.finfo(factor.dtype).tiny ** 0.75)
        if allowed is not None:
            factor = torch.where(allowed, factor, 1.0)
        return replace(self, terms=replace(self.terms, decay=Decay(factor, decay.mode)))

    def operands(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor of numbers, with its name in messages."""
        yield from (("query", self.query), ("key", self.key), ("value", self.value))
        if (prefix := self.terms.prefix) is not None:
            yield from (("prefix key", prefix.key), ("prefix value", prefix.value))
        if (decay := self.terms.decay) is not None:
            yield "decay factor", decay.factor
        if (quasi := self.terms.quasi) is not None:
            yield from (("quasi query", quasi.query), ("quasi key", quasi.key))
            yield from (("quasi lambda_query", quasi.lambda_query), ("quasi lambda_key", quasi.lambda_key))
            if isinstance(quasi.alpha, Tensor):
                yield "quasi alpha", quasi.alpha


def _prepend(prefix: Tensor, tokens: Tensor) -> Tensor:
    """``[prefix ‖ tokens]`` along the length, laid out as encoders lay out heads.

    An encoder's heads are a view of ``(batch, length, heads, D)``; joining there copies whole rows,
    where joining the transposed views was measured ten to forty times slower on a CPU.
    """
    joined = torch.cat([prefix.to(tokens.dtype).transpose(1, 2), tokens.transpose(1, 2)], dim=1)
    return joined.transpose(1, 2)


def check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_mask: Tensor | None,
    mask: Tensor | None,
    terms: Terms | None,
    dropout_p: float,
    scale: float | None,
) -> Problem:
    """Check every argument of ``attend`` and bind them together.

    Raises:
        ShapeError: Shapes that do not fit; both are named.
        DtypeError: A mask that is not boolean; query, key and value that are not of one floating dtype; no tensor
            where one is needed.
        InputError: Tensors on different devices.
        ConfigError: A dropout probability outside [0, 1), a scale that is no finite number or learnt, terms of
            another type.
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        _tensor(name, tensor)
        if tensor.dim() != 4:
            raise ShapeError(
                f"{name} has shape {tuple(tensor.shape)}; it must be (batch, heads, length, head width)"
            )
        if not tensor.is_floating_point():
            raise DtypeError(f"{name} is {tensor.dtype}; it must be a floating dtype")
        # Autocast brings what differs to one dtype.
        if tensor.dtype != query.dtype and not torch.is_autocast_enabled(query.device.type):
            raise DtypeError(f"{name} is {tensor.dtype}, query is {query.dtype}; they must be of one dtype")
    batch, heads, queries, width = query.shape
    keys = key.shape[2]
    if width == 0:
        raise ShapeError(f"query has shape {tuple(query.shape)}; a head must be at least 1 wide")
    _same("key", key, (batch, heads, keys, width), "query", query)
    _same("value", value, (batch, heads, keys, value.shape[3]), "key", key)
    if batch == 0 or queries == 0 or keys == 0:
        raise ShapeError(f"an empty batch: query {tuple(query.shape)}, key {tuple(key.shape)}")
    if not 0.0 <= dropout_p < 1.0:
        raise ConfigError(f"dropout_p is {dropout_p}; it must be in [0, 1)")
    if scale is not None:
        finite("scale", scale, hint="multiply it into the query")
    if key_mask is not None:
        _boolean("key_mask", key_mask)
        if tuple(key_mask.shape) != (batch, keys):
            raise ShapeError(f"key_mask has shape {tuple(key_mask.shape)}; (batch, key) is {(batch, keys)}")
    if mask is not None:
        _boolean("mask", mask)
        _broadcasts("mask", mask, (batch, heads, queries, keys))
    if terms is not None and not isinstance(terms, Terms):
        raise ConfigError(
            f"terms is {with_article(type(terms).__name__)}; it must be Terms",
            hint="Terms(prefix=…, decay=…, quasi=…)",
        )
    terms = terms or Terms()
    _check_terms(terms, query, key, value)
    factor = width**-0.5 if scale is None else scale
    problem = Problem(query, key, value, key_mask, mask, terms, dropout_p, factor)
    for name, tensor in (*problem.operands(), ("key_mask", key_mask), ("mask", mask)):
        if tensor is not None and tensor.device != query.device:
            raise InputError(
                f"{name} is on {tensor.device}, query on {query.device}; they must be on one device"
            )
    return problem


def _check_terms(terms: Terms, query: Tensor, key: Tensor, value: Tensor) -> None:
    batch, heads, queries, width = query.shape
    keys = key.shape[2]
    if (prefix := terms.prefix) is not None:
        _tensor("prefix key", prefix.key)
        if prefix.key.dim() != 4:
            raise ShapeError(
                f"prefix key has shape {tuple(prefix.key.shape)}; it must be (batch, heads, P, D)"
            )
        length = prefix.key.shape[2]
        _same("prefix key", prefix.key, (batch, heads, length, width), "query", query)
        _same("prefix value", prefix.value, (batch, heads, length, value.shape[3]), "value", value)
    if (decay := terms.decay) is not None:
        _broadcasts("decay factor", decay.factor, (batch, heads, queries, keys))
    if (quasi := terms.quasi) is not None:
        _same("quasi query", quasi.query, (batch, heads, queries, width), "query", query)
        _same("quasi key", quasi.key, (batch, heads, keys, width), "key", key)
        _same("quasi lambda_query", quasi.lambda_query, (batch, heads, queries), "query", query)
        _same("quasi lambda_key", quasi.lambda_key, (batch, heads, keys), "key", key)
        if quasi.gate == "row" and queries != keys:
            raise ShapeError(
                f"the row gate indexes λ_K by the query: {queries} queries and {keys} keys differ",
                hint="use gate='pair'",
            )
        if isinstance(quasi.alpha, Tensor) and tuple(quasi.alpha.shape) != (batch, 1, 1, 1):
            raise ShapeError(
                f"quasi alpha has shape {tuple(quasi.alpha.shape)}; it must be {(batch, 1, 1, 1)}"
            )


def _tensor(name: str, given: object) -> None:
    if not isinstance(given, Tensor):
        raise DtypeError(f"{name} is {with_article(type(given).__name__)}; it must be a tensor")


def _same(name: str, tensor: Tensor, wanted: tuple[int, ...], other: str, reference: Tensor) -> None:
    _tensor(name, tensor)
    if tuple(tensor.shape) != wanted:
        raise ShapeError(
            f"{name} has shape {tuple(tensor.shape)}; with {other} {tuple(reference.shape)} it must be {wanted}"
        )


def _broadcasts(name: str, tensor: Tensor, wanted: tuple[int, ...]) -> None:
    _tensor(name, tensor)
    shape = tuple(tensor.shape)
    if len(shape) != 4 or any(size not in (1, full) for size, full in zip(shape, wanted, strict=True)):
        raise ShapeError(
            f"{name} has shape {shape}; it must broadcast to (batch, heads, query, key) = {wanted}"
        )


def _boolean(name: str, tensor: Tensor) -> None:
    _tensor(name, tensor)
    if tensor.dtype != torch.bool:
        raise DtypeError(f"{name} is {tensor.dtype}; it must be torch.bool with True = attend")
