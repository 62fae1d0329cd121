"""Random attention problems of every kind, as NumPy operands for the oracle and as torch arguments."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import product

import numpy as np
import torch
from torch import Tensor

from weft.attention import Decay, Prefix, Quasi, Terms
from weft.attention.oracle import Inputs

OPERANDS = (
    "query", "key", "value", "prefix_key", "prefix_value", "factor",
    "context_query", "context_key", "lambda_query", "lambda_key", "alpha",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    prefix: int = 0
    decay: str | None = None
    gate: str | None = None
    masking: str = "none"

    def __str__(self) -> str:
        return f"P{self.prefix}-decay_{self.decay}-gate_{self.gate}-mask_{self.masking}"


CASES = [
    Case(prefix, decay, gate, masking)
    for prefix, decay, gate, masking in product(
        (0, 1, 3), (None, "scores", "weights"), (None, "row", "pair"), ("none", "padding", "empty_row")
    )
]


def operands(case: Case, seed: int = 0, shape: tuple[int, int, int, int] = (2, 3, 7, 4)) -> Inputs:
    """Random operands; with ``empty_row`` the last batch entry sees nothing at all and query 2 nothing either."""
    random = np.random.default_rng(seed)
    batch, heads, length, width = shape
    draw = random.standard_normal
    x = Inputs(draw(shape), draw(shape), draw(shape))
    if case.masking != "none":
        allowed = np.ones((batch, heads, length, length), dtype=bool)
        allowed[0, :, :, length - 2 :] = False
        if case.masking == "empty_row":
            allowed[-1] = False
            allowed[0, :, 2] = False
        x = replace(x, allowed=allowed)
    if case.prefix:
        prefix = (batch, heads, case.prefix, width)
        x = replace(x, prefix_key=draw(prefix), prefix_value=draw(prefix))
    if case.decay:
        x = replace(x, factor=random.uniform(0.1, 1.2, (batch, heads, length, length)), decay_mode=case.decay)
    if case.gate:
        x = replace(
            x,
            context_query=draw(shape),
            context_key=draw(shape),
            lambda_query=random.uniform(0, 1, shape[:3]),
            lambda_key=random.uniform(0, 1, shape[:3]),
            alpha=random.uniform(0.2, 1.0, (batch, 1, 1, 1)),
            beta=0.9,
            gamma=0.8,
            gate=case.gate,
        )
    return x


def tensors(
    x: Inputs, dtype: torch.dtype, device: str = "cpu", requires_grad: bool = True
) -> dict[str, Tensor]:
    """The operands that exist, as leaves."""
    return {
        field.name: torch.tensor(
            getattr(x, field.name), dtype=dtype, device=device, requires_grad=requires_grad
        )
        for field in fields(x)
        if field.name in OPERANDS and isinstance(getattr(x, field.name), np.ndarray)
    }


def arguments(x: Inputs, t: dict[str, Tensor]) -> dict[str, object]:
    """Keyword arguments of ``attend`` for these operands."""
    prefix = Prefix(t["prefix_key"], t["prefix_value"]) if "prefix_key" in t else None
    decay = Decay(t["factor"], x.decay_mode) if "factor" in t else None
    quasi = None
    if "context_query" in t:
        quasi = Quasi(
            t["context_query"], t["context_key"], t["lambda_query"], t["lambda_key"],
            t["alpha"], x.beta, x.gamma, x.gate,
        )  # fmt: skip
    mask = None if x.allowed is None else torch.tensor(x.allowed, device=t["query"].device)
    return {
        "query": t["query"], "key": t["key"], "value": t["value"],
        "mask": mask, "terms": Terms(prefix, decay, quasi),
    }  # fmt: skip
