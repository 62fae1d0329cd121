"""`weft bench attention`: the paths of ``attend`` against plain SDPA and against the literal forms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention, softmax

from weft.attention import Decay, Path, Prefix, Quasi, Terms, attend, oracle
from weft.bench.measure import can_measure_memory, extra_memory, medians, saved_for_backward
from weft.bench.table import Row

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


LAYERS = 4
"""Calls before one backward, as in a stack: what a layer keeps is still there when the next one needs room."""


@dataclass(frozen=True)
class _Shape:
    batch: int
    heads: int
    length: int
    width: int

    def __str__(self) -> str:
        return f"B={self.batch} H={self.heads} L={self.length} D={self.width}"


def literal_prefix(
    query: Tensor, key: Tensor, value: Tensor, prefix_key: Tensor, prefix_value: Tensor
) -> Tensor:
    """The contract's algorithm, step by step: concatenate, matmul, masked_fill, softmax, matmul."""
    keys = torch.cat([prefix_key, key], dim=2)
    values = torch.cat([prefix_value, value], dim=2)
    seen = torch.ones(query.shape[0], keys.shape[2])
    scores = torch.matmul(query, keys.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    scores = scores.masked_fill(seen[:, None, None, :] == 0, -1e9)
    return torch.matmul(softmax(scores, dim=-1), values)


def literal_decay(query: Tensor, key: Tensor, value: Tensor, factor: Tensor, bias: Tensor) -> Tensor:
    """The encoder document's self-attention: scale, times the decay mask, plus the padding mask, softmax."""
    scores = torch.matmul(query, key.transpose(-2, -1))
    scores = scores / math.sqrt(query.shape[-1])
    scores = scores * factor
    scores = scores + bias
    return torch.matmul(softmax(scores, dim=-1), value)


def literal_quasi(query: Tensor, key: Tensor, value: Tensor, quasi: Quasi, bias: Tensor) -> Tensor:
    """The review's self-attention, steps 1 to 5 without dropout, and the copies of its maps that are kept.

    Its encoder appends a clone of A, A1, A2 and λ to its lists in every layer, asked for or not.
    """
    width = math.sqrt(query.shape[-1])
    scores = torch.matmul(query, key.transpose(-2, -1))
    scores = scores / width
    weights = softmax(scores + bias, dim=-1)
    logits = torch.matmul(quasi.query, quasi.key.transpose(-2, -1))
    logits = logits / width
    quasi_weights = 1.0 * torch.sigmoid(logits + bias)
    gate = 1.0 - (quasi.lambda_query.unsqueeze(-1) + quasi.lambda_key.unsqueeze(-1))
    total = weights + gate * quasi_weights
    _ = [kept.clone() for kept in (total, weights, quasi_weights, gate)]
    return torch.matmul(total, value)


def _padding(shape: _Shape, dtype: str) -> tuple[Tensor, Tensor]:
    """The last eighth of every second example is padding: as a boolean mask, and as an additive one."""
    key_mask = torch.ones(shape.batch, shape.length, dtype=torch.bool)
    key_mask[::2, shape.length - shape.length // 8 :] = False
    bias = (1.0 - key_mask.to(DTYPES[dtype])) * -10000.0
    return key_mask, bias[:, None, None, :]


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` runs few repetitions, for a look, not for a claim."""
    torch.manual_seed(0)
    repeats = 3 if quick else 15
    yield from _exactness()
    for dtype in DTYPES:
        yield from _prefix(dtype, _Shape(4, 12, 512, 64), (1.08, 1.08), repeats, against_literal=True)
        yield from _prefix(dtype, _Shape(32, 8, 128, 64), (1.12, 1.15), repeats, against_literal=False)
        yield from _decay(dtype, _Shape(1, 8, 1024, 64), repeats)
        yield from _quasi(dtype, _Shape(8, 12, 128, 64), repeats)
        yield from _quasi_memory(dtype, _Shape(2, 12, 512, 64))


def _draw(shape: _Shape, dtype: str, *extra: tuple[int, ...]) -> list[Tensor]:
    """Query, key and value as an encoder makes them, then tensors of the extra shapes; all leaves."""
    batch, heads, length, width = shape.batch, shape.heads, shape.length, shape.width
    tokens = [torch.randn(batch, length, heads, width, dtype=DTYPES[dtype]).transpose(1, 2) for _ in range(3)]
    others = [torch.randn(size, dtype=DTYPES[dtype]) for size in extra]
    return [tensor.detach().requires_grad_() for tensor in (*tokens, *others)]


def _step(forward: Callable[[], Tensor], leaves: list[Tensor], layers: int = LAYERS) -> Callable[[], None]:
    """Forward and backward of a stack of layers that share their inputs, gradients cleared."""
    weight = torch.randn_like(forward())

    def run() -> None:
        for leaf in leaves:
            leaf.grad = None
        outputs = [forward() for _ in range(layers)]
        torch.autograd.backward(outputs, [weight] * layers)

    return run


def _inference(forward: Callable[[], Tensor]) -> Callable[[], None]:
    def run() -> None:
        with torch.no_grad():
            forward()

    return run


def _timed(
    name: str, variant: str, dtype: str, ours: Callable[[], Tensor], baseline: Callable[[], Tensor],
    leaves: list[Tensor], repeats: int, target: float | None = None, forward: float | None = None,
) -> Iterator[Row]:  # fmt: skip
    """Forward and forward+backward; bounds hold in fp32."""
    mine, theirs = medians(_inference(ours), _inference(baseline), repeats)
    yield Row(
        name, f"{variant}, forward", dtype, "ms", mine, theirs, target=forward if dtype == "fp32" else None
    )
    mine, theirs = medians(_step(ours, leaves), _step(baseline, leaves), repeats)
    bound = target if dtype == "fp32" else None
    yield Row(name, f"{variant}, forward+backward", dtype, "ms", mine, theirs, target=bound)


def _memory(
    name: str, shape: _Shape, dtype: str, ours: Callable[[], Tensor], baseline: Callable[[], Tensor],
    leaves: list[Tensor], target: float | None,
) -> Iterator[Row]:  # fmt: skip
    """Peak memory of one layer's forward and backward, where the system tells it."""
    if can_measure_memory():
        mine, theirs = (extra_memory(_step(run, leaves, layers=1)) for run in (ours, baseline))
        yield Row(name, f"{shape}, extra memory", dtype, "MiB", mine, theirs, target=target)


def _prefix(
    dtype: str, shape: _Shape, targets: tuple[float, float], repeats: int, *, against_literal: bool
) -> Iterator[Row]:
    one = (shape.batch, shape.heads, 1, shape.width)
    leaves = _draw(shape, dtype, one, one)
    query, key, value, prefix_key, prefix_value = leaves

    def ours(path: Path = "auto") -> Tensor:
        return attend(query, key, value, terms=Terms(prefix=Prefix(prefix_key, prefix_value)), path=path)[0]

    def alone() -> Tensor:
        return attend(query, key, value)[0]

    def plain() -> Tensor:
        # bf16 on a CPU takes our chunked path with and without a prefix: compare like with like.
        if dtype == "bf16":
            return alone()
        return scaled_dot_product_attention(query, key, value)

    forward, both = targets
    yield from _timed("prefix vs none", str(shape), dtype, ours, plain, leaves, repeats, both, forward)
    if dtype == "fp32":
        merged, joined = partial(ours, "merged"), partial(ours, "sdpa")
        yield from _timed("prefix vs attend without", str(shape), dtype, ours, alone, leaves, repeats)
        yield from _timed("prefix, merged vs joined", str(shape), dtype, merged, joined, leaves, repeats)
    if against_literal:

        def literal() -> Tensor:
            return literal_prefix(query, key, value, prefix_key, prefix_value)

        yield from _timed("prefix vs literal", str(shape), dtype, ours, literal, leaves, repeats, 1 / 2.2)
        yield from _memory("prefix vs literal", shape, dtype, ours, literal, leaves, None)


def _decay(dtype: str, shape: _Shape, repeats: int) -> Iterator[Row]:
    leaves = _draw(shape, dtype)
    factor = torch.rand(shape.batch, shape.heads, shape.length, shape.length, dtype=DTYPES[dtype]) * 0.9 + 0.1
    leaves.append(factor.requires_grad_())
    query, key, value, factor = leaves
    key_mask, bias = _padding(shape, dtype)

    def ours() -> Tensor:
        return attend(query, key, value, key_mask=key_mask, terms=Terms(decay=Decay(factor, "scores")))[0]

    def literal() -> Tensor:
        return literal_decay(query, key, value, factor, bias)

    yield from _timed(
        "decay on scores vs literal", str(shape), dtype, ours, literal, leaves, repeats, 1 / 2.2
    )
    bound = 0.35 if dtype == "fp32" else None
    yield from _memory("decay on scores vs literal", shape, dtype, ours, literal, leaves, bound)


def _quasi_inputs(
    dtype: str, shape: _Shape
) -> tuple[list[Tensor], Callable[[], Tensor], Callable[[], Tensor]]:
    full = (shape.batch, shape.heads, shape.length, shape.width)
    leaves = _draw(shape, dtype, full, full)
    gates = [torch.rand(full[:3], dtype=DTYPES[dtype]).requires_grad_() for _ in range(2)]
    leaves += gates
    query, key, value, context_query, context_key, lambda_query, lambda_key = leaves
    quasi = Quasi(context_query, context_key, lambda_query, lambda_key)
    key_mask, bias = _padding(shape, dtype)

    def ours() -> Tensor:
        return attend(query, key, value, key_mask=key_mask, terms=Terms(quasi=quasi))[0]

    def literal() -> Tensor:
        return literal_quasi(query, key, value, quasi, bias)

    return leaves, ours, literal


def _quasi(dtype: str, shape: _Shape, repeats: int) -> Iterator[Row]:
    leaves, ours, literal = _quasi_inputs(dtype, shape)
    yield from _timed("quasi vs literal", str(shape), dtype, ours, literal, leaves, repeats, 1 / 1.4)
    yield from _memory("quasi vs literal", shape, dtype, ours, literal, leaves, None)


def _quasi_memory(dtype: str, shape: _Shape) -> Iterator[Row]:
    leaves, ours, literal = _quasi_inputs(dtype, shape)
    mine, theirs = (saved_for_backward(run, tuple(leaves)) for run in (ours, literal))
    bound = 0.2 if dtype == "fp32" else None
    yield Row("quasi vs literal", f"{shape}, saved for backward", dtype, "MiB", mine, theirs, target=bound)


def _exactness() -> Iterator[Row]:
    """The largest difference from the oracle over outputs, every term at once."""
    random = np.random.default_rng(0)
    shape = (2, 4, 64, 32)
    draw, uniform = random.standard_normal, random.uniform
    x = oracle.Inputs(
        query=draw(shape),
        key=draw(shape),
        value=draw(shape),
        prefix_key=draw((2, 4, 3, 32)),
        prefix_value=draw((2, 4, 3, 32)),
        factor=uniform(0.1, 1.2, (2, 4, 64, 64)),
        context_query=draw(shape),
        context_key=draw(shape),
        lambda_query=uniform(0, 1, shape[:3]),
        lambda_key=uniform(0, 1, shape[:3]),
        alpha=1 / 64,
        gate="pair",
    )
    expected = oracle.forward(x).output
    for precision, dtype, bound in (("fp64", torch.float64, 1e-10), ("fp32", torch.float32, 2e-5)):
        for path in ("reference", "chunked"):
            t = {
                name: torch.tensor(a, dtype=dtype) for name, a in vars(x).items() if isinstance(a, np.ndarray)
            }
            context = (t["context_query"], t["context_key"], t["lambda_query"], t["lambda_key"])
            terms = Terms(
                Prefix(t["prefix_key"], t["prefix_value"]),
                Decay(t["factor"], "scores"),
                Quasi(*context, alpha=1 / 64, gate="pair"),
            )
            output, _ = attend(t["query"], t["key"], t["value"], terms=terms, path=path)
            error = float(np.abs(output.double().numpy() - expected).max())
            yield Row(
                f"{path} vs oracle", "prefix, decay and quasi", precision, "max abs", error, 1.0, target=bound
            )
