"""What to hide for masked modelling: single tokens or spans. Pure functions of a generator.

A *unit* is what is hidden or kept as one: a token, a span. Each function chooses
units; one function then corrupts them. Everything runs on the device of ``input_ids``, where the
generator must be too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from weft.errors import ConfigError, DtypeError, InputError, ShapeError
from weft.objective.losses import IGNORED


class Split(NamedTuple):
    """Shares of the chosen units that become the mask token, random tokens, or stay as they are."""

    masked: float = 0.8
    random: float = 0.1
    kept: float = 0.1


BERT_SPLIT = Split()
"""Of 100 chosen units 80 are masked, 10 replaced at random, 10 kept."""


@dataclass(frozen=True)
class MaskVocabulary:
    """What masking must know of a vocabulary.

    Args:
        size: Number of ids.
        mask_id: The mask token's.
        special_ids: Ids that are never chosen and never drawn as a random token: padding, ``[CLS]``,
            ``[SEP]``, … The mask token is always among them.

    Raises:
        ConfigError: An id outside the vocabulary, or nothing left to draw.
    """

    size: int
    mask_id: int
    special_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        ids = {self.mask_id, *self.special_ids}
        for number in sorted(ids):
            if not 0 <= number < self.size:
                raise ConfigError(f"special id {number} is outside the vocabulary of {self.size}")
        if len(ids) == self.size:
            raise ConfigError(f"all {self.size} ids are special: none is left to mask")
        object.__setattr__(self, "special_ids", tuple(sorted(ids)))

    def is_special(self, input_ids: Tensor) -> Tensor:
        """Which positions hold a special id."""
        return torch.isin(input_ids, torch.tensor(self.special_ids, device=input_ids.device))

    def draw(self, count: int, generator: torch.Generator, device: torch.device) -> Tensor:
        """Random ids that are not special, ``(count,)``."""
        ordinary = torch.ones(self.size, dtype=torch.bool, device=device)
        ordinary[list(self.special_ids)] = False
        ids = ordinary.nonzero().squeeze(1)
        return ids[torch.randint(len(ids), (count,), generator=generator, device=device)]


class Masked(NamedTuple):
    """A batch with something hidden.

    Args:
        input_ids: ``(batch, seq)``, corrupted.
        labels: ``(batch, seq)``: the original id at hidden positions, −100 elsewhere.
        units: ``(batch, seq)``: which unit of the batch a hidden position belongs to, −1 elsewhere.
    """

    input_ids: Tensor
    labels: Tensor
    units: Tensor


class SpanBoundaries(NamedTuple):
    """For every hidden token, in row-major order, what surrounds its span; each ``(masked,)``.

    Args:
        example: Its row.
        position: Its column.
        left: Column of the token before its span, or of the span's first where there is none.
        right: Column of the token after its span, or of the span's last where there is none.
        offset: Its place in its span, from 0.
    """

    example: Tensor
    position: Tensor
    left: Tensor
    right: Tensor
    offset: Tensor


def mask_tokens(
    input_ids: Tensor,
    vocabulary: MaskVocabulary,
    generator: torch.Generator,
    *,
    rate: float = 0.15,
    maskable: Tensor | None = None,
    split: Split = BERT_SPLIT,
) -> Masked:
    """Hide single tokens: in every example round(rate · n) of its n maskable ones, at least one.

    Args:
        input_ids: int64, ``(batch, seq)``.
        vocabulary: Special ids, padding among them, are never hidden.
        generator: Of the draws.
        rate: Share of the maskable tokens.
        maskable: Further limits what may be hidden (roots only, …); bool, ``(batch, seq)``.
        split: What happens to the chosen tokens.

    Returns:
        The corrupted ids, the labels and the units.

    Raises:
        ShapeError: Shapes that do not fit.
        DtypeError: Ids that are not int64.
        ConfigError: A rate outside [0, 1], a split that does not sum to 1.
        InputError: An id outside the vocabulary.

    Source: Devlin et al. 2019, BERT, §3.1 and A.1.

    Differs from the paper: random tokens are never special ones.
    """
    maskable = maskable_tokens(input_ids, vocabulary, maskable, rate, split)
    keys = torch.rand(input_ids.shape, generator=generator, device=input_ids.device)
    # The maskable positions with the smallest keys: their number is exact, not a coin for each token.
    ranks = keys.masked_fill(~maskable, 2.0).argsort(dim=1).argsort(dim=1)
    chosen = maskable & (ranks < _budgets(maskable, rate)[:, None])
    return corrupt(input_ids, _numbered(chosen), vocabulary, split, generator)


def mask_spans(
    input_ids: Tensor,
    vocabulary: MaskVocabulary,
    generator: torch.Generator,
    *,
    word_starts: Tensor | None = None,
    rate: float = 0.15,
    probability: float = 0.2,
    longest: int = 7,
    maskable: Tensor | None = None,
    split: Split = BERT_SPLIT,
) -> Masked:
    """Hide spans: lengths are geometric, each starts where a word starts, the split is drawn per span.

        P(length = ℓ) ∝ p · (1 − p)^(ℓ−1)      ℓ = 1 … longest

    Starts are tried in random order until round(rate · n) of the example's n maskable tokens are hidden;
    a span ends early at a token that may not be hidden and when the budget is spent. Two spans never
    touch, so that both tokens around a span are visible to the span-boundary objective; for this an
    example with few words may stay below its budget.

    Args:
        input_ids: int64, ``(batch, seq)``.
        vocabulary: Special ids, padding among them, are never hidden.
        generator: Of the draws.
        word_starts: Where words start; bool, ``(batch, seq)``. None lets a span start anywhere.
        rate: Share of the maskable tokens.
        probability: p.
        longest: The longest span.
        maskable: Further limits what may be hidden (roots only, …); bool, ``(batch, seq)``.
        split: What happens to the chosen spans.

    Returns:
        The corrupted ids, the labels and the units; a unit is a span.

    Raises:
        ShapeError: Shapes that do not fit.
        DtypeError: Ids that are not int64.
        ConfigError: A rate, probability, length or split outside its range.
        InputError: An id outside the vocabulary.

    Source: Joshi et al. 2020, SpanBERT, §3.1.

    Differs from the paper: spans count tokens, not words, up to 7 instead of 10, and do not touch.
    """
    maskable = maskable_tokens(input_ids, vocabulary, maskable, rate, split)
    if not 0 < probability < 1 or longest < 1:
        raise ConfigError(
            f"span lengths of p = {probability} up to {longest}; p must lie in (0, 1), up to at least 1"
        )
    starts = maskable
    if word_starts is not None:
        check_shape("word_starts", word_starts, input_ids)
        starts = maskable & word_starts.bool()
    device = input_ids.device
    weights = (1 - probability) ** torch.arange(longest, dtype=torch.float64, device=device)
    lengths = 1 + torch.multinomial(weights, input_ids.numel(), replacement=True, generator=generator)
    order = (
        torch.rand(input_ids.shape, generator=generator, device=device)
        .masked_fill(~starts, 2.0)
        .argsort(dim=1)
    )

    units = torch.full(input_ids.shape, -1, dtype=torch.int64, device="cpu")
    count = 0
    rows = zip(
        order.tolist(),
        starts.sum(dim=1).tolist(),
        lengths.view(input_ids.shape).tolist(),
        maskable.tolist(),
        _budgets(maskable, rate).tolist(),
        strict=True,
    )
    for row, (tries, number, spans, allowed, budget) in enumerate(rows):
        hidden: set[int] = set()
        for start in tries[:number]:
            if len(hidden) == budget:
                break
            end = _span_end(start, min(spans[start], budget - len(hidden)), allowed, hidden)
            if end > start:
                units[row, start:end] = count
                hidden.update(range(start, end))
                count += 1
    return corrupt(input_ids, units.to(device), vocabulary, split, generator)


def span_boundaries(units: Tensor, attention_mask: Tensor | None = None) -> SpanBoundaries:
    """Where the tokens around every hidden span are.

    A span at the edge of its example has no neighbour there: its own first or last token stands in.

    Args:
        units: ``(batch, seq)``, of :func:`mask_spans`: neighbours of one unit are one span.
        attention_mask: True for real tokens, ``(batch, seq)``; None for all.

    Returns:
        One entry for every hidden token, in row-major order: the order of ``labels[labels != -100]``.

    Raises:
        ShapeError: Shapes that do not fit.
    """
    if attention_mask is not None:
        check_shape("attention_mask", attention_mask, units)
    hidden = units >= 0
    example, position = hidden.nonzero(as_tuple=True)
    width = units.shape[1]
    columns = torch.arange(width, device=units.device).expand_as(units)
    before = torch.cat([torch.full_like(units[:, :1], -2), units[:, :-1]], dim=1)
    after = torch.cat([units[:, 1:], torch.full_like(units[:, :1], -2)], dim=1)
    first = torch.where(hidden & (before != units), columns, 0).cummax(dim=1).values
    last = torch.where(hidden & (after != units), columns, width).flip(1).cummin(dim=1).values.flip(1)
    first, last = first[hidden], last[hidden]
    left, right = (first - 1).clamp(min=0), (last + 1).clamp(max=width - 1)
    if attention_mask is not None:
        real = attention_mask.bool()
        left = torch.where(real[example, left], left, first)
        right = torch.where(real[example, right], right, last)
    return SpanBoundaries(example, position, left, right, position - first)


def _span_end(start: int, length: int, allowed: list[bool], hidden: set[int]) -> int:
    """Where a span from ``start`` must end, exclusively; ``start`` itself if it cannot be there at all."""
    if start in hidden or start - 1 in hidden:
        return start
    end = start
    while end < min(start + length, len(allowed)) and allowed[end] and end + 1 not in hidden:
        end += 1
    return end


def corrupt(
    input_ids: Tensor, units: Tensor, vocabulary: MaskVocabulary, split: Split, generator: torch.Generator
) -> Masked:
    """Hide the units ``(batch, seq)``, −1 elsewhere: each as a whole masked, replaced at random or kept."""
    hidden = units >= 0
    which = units[hidden]
    count = int(which.max()) + 1 if which.numel() else 0
    fate = torch.rand(count, generator=generator, device=input_ids.device)[which]
    original = input_ids[hidden]
    random = vocabulary.draw(len(original), generator, input_ids.device)
    replaced = torch.where(fate < split.masked, torch.full_like(original, vocabulary.mask_id), original)
    replaced = torch.where((fate >= split.masked) & (fate < split.masked + split.random), random, replaced)
    corrupted = input_ids.masked_scatter(hidden, replaced)
    return Masked(corrupted, input_ids.masked_fill(~hidden, IGNORED), units)


def _numbered(chosen: Tensor) -> Tensor:
    numbers = chosen.flatten().cumsum(0).view(chosen.shape) - 1
    return torch.where(chosen, numbers, -1)


def _budgets(maskable: Tensor, rate: float) -> Tensor:
    counts = maskable.sum(dim=1)
    budgets = (counts * rate + 0.5).floor().to(torch.int64)
    return budgets.clamp(min=1 if rate > 0 else 0).minimum(counts)


def maskable_tokens(
    input_ids: Tensor, vocabulary: MaskVocabulary, maskable: Tensor | None, rate: float, split: Split
) -> Tensor:
    """What may be hidden, ``(batch, seq)`` bool, the arguments checked.

    Raises:
        ShapeError: Ids that are not ``(batch, seq)``, or a limit of another shape.
        DtypeError: Ids that are not int64.
        ConfigError: A rate outside [0, 1], a split that does not sum to 1.
        InputError: An id outside the vocabulary.
    """
    if input_ids.ndim != 2:
        raise ShapeError(f"input_ids are {tuple(input_ids.shape)}; they must be (batch, seq)")
    if input_ids.dtype != torch.int64:
        raise DtypeError(f"input_ids are {input_ids.dtype}; they must be torch.int64")
    if not 0 <= rate <= 1:
        raise ConfigError(f"the masking rate is {rate}; it must lie in [0, 1]")
    if min(split) < 0 or abs(sum(split) - 1) > 1e-6:
        raise ConfigError(f"the split is {tuple(split)}; it must be three shares that sum to 1")
    if input_ids.numel() and not 0 <= int(input_ids.min()) <= int(input_ids.max()) < vocabulary.size:
        raise InputError(
            f"ids from {int(input_ids.min())} to {int(input_ids.max())}, vocabulary of {vocabulary.size}"
        )
    ordinary = ~vocabulary.is_special(input_ids)
    if maskable is None:
        return ordinary
    check_shape("maskable", maskable, input_ids)
    return ordinary & maskable.bool()


def check_shape(name: str, tensor: Tensor, like: Tensor) -> None:
    """Raise where a tensor is not of the ids' shape."""
    if tensor.shape != like.shape:
        raise ShapeError(f"{name} is {tuple(tensor.shape)}, ids are {tuple(like.shape)}; they must be equal")
