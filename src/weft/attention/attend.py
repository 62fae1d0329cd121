"""The one attention operation: softmax attention with a prefix, a decay and a signed quasi-attention."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from weft.attention.problem import Problem, check
from weft.attention.reference import Maps, reference
from weft.attention.terms import Terms
from weft.errors import ConfigError

Path = Literal["auto", "reference", "sdpa", "chunked", "flex"]


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    key_mask: Tensor | None = None,
    mask: Tensor | None = None,
    terms: Terms | None = None,
    dropout_p: float = 0.0,
    scale: float | None = None,
    path: Path = "auto",
    need_maps: bool | Literal["prefix"] = False,
) -> tuple[Tensor, Maps | None]:
    problem = check(query, key, value, key_mask, mask, terms, dropout_p, scale)
    output, maps = reference(problem)
    return output, maps if need_maps else None
