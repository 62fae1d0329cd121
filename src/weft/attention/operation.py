"""The one attention operation: softmax attention with a prefix, a decay and a signed quasi-attention."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

import torch
from torch import Tensor

from weft.attention import flex, merged, sdpa
from weft.attention.chunked import chunked
from weft.attention.problem import Problem, check
from weft.attention.reference import Maps, reference
from weft.attention.terms import Terms
from weft.errors import ConfigError

Path = Literal["auto", "reference", "sdpa", "merged", "chunked", "flex"]
"""Ways to compute attention: see :func:`attend`."""


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
    """Attend with whatever terms there are; without terms it is plain attention.

    Equation::

        S      = query · keyᵀ · D^-½
        S      = S ⊙ F        Decay(mode="scores")
               = S + log F    Decay(mode="weights"): weights ⊙ F, renormalised
        S      = -inf         where key_mask or mask is False
        A      = softmax([query · prefix_keyᵀ · D^-½ ‖ S])      the prefix is never masked, never decayed
        output = A · [prefix_value ‖ value] + (Λ ⊙ G) · value   the second part only with Quasi
        G      = α · sigmoid(C_Q · C_Kᵀ · D^-½), 0 where key_mask or mask is False
        Λ_ij   = 1 − β·λQ_i − γ·λK_i  (gate="row")  or  1 − β·λQ_i − γ·λK_j  (gate="pair")

    A query that sees no key gives 0 and passes no gradient; with a prefix it gives the prefix's value.

    Paths: ``reference`` (plain autograd, any dtype, every map), ``sdpa`` (no quasi, decay on weights
    only), ``merged`` (a prefix alone, on the CPU, first derivatives only), ``chunked`` (everything,
    recomputes in the backward, first derivatives only), ``flex`` (CUDA, no quasi, no dropout).
    ``auto`` chooses by the tables in ``docs/results.md``; under ``torch.compile`` and ``torch.export`` it takes
    ``reference`` for what ``sdpa`` cannot express.

    Under ``torch.func`` (``grad``, ``jacrev``, ``jvp``) give ``path="reference"``. ``vmap`` is refused by torch, for
    the inputs are looked at.

    Dropout: one mask on the summed weights A + [0 ‖ Λ⊙G] on ``reference`` and ``chunked``; SDPA's own on
    ``sdpa``. The paths draw different random numbers.

    Args:
        query: ``(batch, heads, query, D)``.
        key: ``(batch, heads, key, D)``.
        value: ``(batch, heads, key, D)``.
        key_mask: ``(batch, key)`` bool, True = attend.
        mask: ``(batch | 1, heads | 1, query, key)`` bool, for one-way or causal patterns.
        terms: Prefix, decay and quasi-attention, alone or together.
        dropout_p: Dropout probability on the weights; pass 0 outside training.
        scale: Factor on the logits; D^-½ by default.
        path: How to compute it.
        need_maps: True for all maps (on ``reference``), ``"prefix"`` for the weight on the prefix alone,
            which any path gives without building the whole map.

    Returns:
        The output ``(batch, heads, query, D)``, and the maps or None.

    Raises:
        ShapeError: Shapes that do not fit, both named; an empty batch.
        DtypeError: A mask that is not boolean; query, key and value that are not of one floating dtype; no tensor
            where one is needed.
        NonFiniteError: NaN or infinity in query, key, value or a term, masked or not (on the CPU, outside of
            compiled graphs).
        InputError: Tensors on different devices; a factor below 0 on weights (on the CPU, as above).
        ConfigError: An unknown path, or one that cannot express the terms; unknown maps; a scale that is no finite
            number or learnt. From a backward: second derivatives of a path that has none.

    Source:
        Vaswani et al. 2017, eq. 1; prefix: the BCSD model contract; decay: Belova et al. 2025
        (GraphMERT), §4; quasi: Wu and Ong 2021 (QACG-BERT), eqs. 4–10.

    Differs from the spec:
        The contract's mask fills with −1e9, which overflows half precision and turns an empty row into
        a uniform average; here masks are boolean. The review says the code uses the quasi part alone;
        the published code and the paper add it to the softmax part, and so does this.
    """
    problem = check(query, key, value, key_mask, mask, terms, dropout_p, scale)
    chosen = _choose(problem, path, need_maps)
    if chosen != "merged":  # that path looks for what is not finite on its way
        problem.refuse_non_finite()
        problem = problem.sloped()
    if chosen == "reference":
        output, maps = reference(problem)
        return output, maps if need_maps else None
    compute = {"sdpa": sdpa.sdpa, "merged": merged.merged, "flex": flex.flex, "chunked": chunked}
    output = compute[chosen](problem)
    if need_maps == "prefix" and problem.prefix_length:
        return output, Maps(prefix=sdpa.prefix_weight(problem))
    return output, Maps() if need_maps else None


def _choose(problem: Problem, path: Path, need_maps: bool | Literal["prefix"]) -> Path:
    if path not in get_args(Path):
        raise ConfigError(f"path is {path!r}; it must be one of {', '.join(get_args(Path))}")
    if need_maps is not True and need_maps not in (False, "prefix"):
        raise ConfigError(f"need_maps is {need_maps!r}; it must be True, False or 'prefix'")
    if need_maps is True:
        if path not in ("auto", "reference"):
            raise ConfigError(
                f"the {path} path keeps no maps", hint="use path='reference', or need_maps='prefix'"
            )
        return "reference"
    if path == "sdpa" and not sdpa.fits(problem):
        raise ConfigError(
            "the sdpa path has no quasi term and no decay on scores", hint="use path='chunked' or 'auto'"
        )
    if path == "merged" and not merged.fits(problem):
        raise ConfigError(
            "the merged path has a prefix alone, fp32 or fp64 on a CPU, no dropout", hint="use path='auto'"
        )
    if path == "chunked" and problem.query.is_meta:
        raise ConfigError(
            "the chunked path writes over memory, and meta tensors have none", hint="use path='auto'"
        )
    if path != "auto":
        return path
    if problem.query.dtype == torch.float64 and any(t.requires_grad for _, t in problem.operands()):
        # Double precision is for checking, where second derivatives may be wanted and speed is not.
        return "reference"
    if not sdpa.fits(problem):
        # Chunks are walked by looking at masks and writing over buffers: an exported graph can do neither, and
        # a compiled one breaks into dozens, for every shape anew. Meta tensors have no numbers to look at.
        return "reference" if torch.compiler.is_compiling() or problem.query.is_meta else "chunked"
    if torch.compiler.is_compiling():
        return "sdpa"
    if problem.query.device.type == "cpu" and problem.query.dtype == torch.bfloat16 and cpu_multiplies_bf16():
        return "chunked"
    if merged.pays(problem):
        return "merged"
    return "sdpa"


@lru_cache(maxsize=1)
def cpu_multiplies_bf16() -> bool:
    """Whether this CPU has bf16 matrix instructions, so that a bf16 product beats an fp32 one."""
    capabilities = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
