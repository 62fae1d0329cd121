"""Attention that fades with distance in a graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from weft.attention import Decay, Terms
from weft.attention.terms import DecayMode
from weft.condition.conditioner import Conditioner
from weft.errors import ConfigError, DtypeError, InputError, ShapeError
from weft.platform.ranges import at_least

UNREACHABLE = -1
"""The distance of two nodes without a path between them; it counts as the largest one."""


class DistanceDecay(Conditioner):
    """A factor per pair of tokens that falls with their distance in a graph.

    F_h(i, j) = base ^ GELU(√sp(i, j) − p_h),    sp = 1 + distance

    p is learned, one number per head, 1 at the start and shared by all layers. At distance 0 the start
    is F = 1; where √sp < p the GELU is negative (at least −0.17), so F may exceed 1 slightly.

    F depends on the distance alone, so it is computed once per distance, ``max_distance + 1`` entries
    per head, and gathered once per batch for all layers.

    Args:
        num_heads: Attention heads of the encoder.
        max_distance: The largest distance; larger ones and ``UNREACHABLE`` count as it. A leafy chain
            of R roots needs R + 1.
        base: Between 0 and 1.
        mode: ``"scores"`` multiplies the logits, ``"weights"`` the weights, which are renormalised.

    Structure:
        Distances ``(batch, seq, seq)``, or ``(1, seq, seq)`` for all examples alike, of an integer dtype.

    Raises:
        ConfigError: A head count or distance below 1, a base outside (0, 1), an unknown mode.

    Source:
        GraphMERT, "spatial attention decay"; the encoder document, part 11.

    Differs from the paper:
        sp counts from 1, so that a token sees itself undiminished at the start. The paper's sentence
        multiplies weights, its code logits: both are here, under their names.
    """

    def __init__(
        self, num_heads: int, max_distance: int, base: float = 0.6, mode: DecayMode = "scores"
    ) -> None:
        super().__init__()
        at_least(1, num_heads=num_heads, max_distance=max_distance)
        if not 0.0 < base < 1.0:
            raise ConfigError(f"base is {base}; it must be between 0 and 1")
        if mode not in ("scores", "weights"):
            raise ConfigError(f"mode is {mode!r}; it must be 'scores' or 'weights'")
        self.num_heads = num_heads
        self.max_distance = max_distance
        self.base = base
        self.mode: DecayMode = mode
        self.p = nn.Parameter(torch.ones(num_heads))

    def table(self) -> Tensor:
        """F for every head and distance, ``(heads, max_distance + 1)``; never 0, whose logarithm has no gradient."""
        sp = torch.arange(1, self.max_distance + 2, device=self.p.device, dtype=self.p.dtype)
        # A compiled graph of any shapes has numbers as symbols, and no derivative of a power of one.
        base = torch.full_like(sp[0], self.base) if torch.compiler.is_compiling() else self.base
        factor = base ** F.gelu(sp.sqrt() - self.p[:, None])
        return factor.clamp(min=torch.finfo(factor.dtype).tiny)

    def prepare(self, structure: Tensor) -> Decay:
        """Gather F for the batch.

        Raises:
            ShapeError: The distances are not ``(batch, seq, seq)``.
            DtypeError: They are not integers.
            InputError: A distance below ``UNREACHABLE``.
        """
        if structure.dim() != 3 or structure.shape[1] != structure.shape[2]:
            raise ShapeError(f"distances have shape {tuple(structure.shape)}; they must be (batch, seq, seq)")
        if structure.dtype not in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
            raise DtypeError(f"distances are {structure.dtype}; they must be integers, -1 for no path")
        compiling = torch.compiler.is_compiling()
        if not compiling and structure.numel() and int(structure.min()) < UNREACHABLE:
            raise InputError(f"a distance of {int(structure.min())}; the least is {UNREACHABLE}, no path")
        batch, seq, _ = structure.shape
        steps = structure.to(torch.int64).clamp(max=self.max_distance)
        steps = steps.masked_fill(steps == UNREACHABLE, self.max_distance).view(batch, 1, seq * seq)
        # gather, not indexing: the result is laid out (batch, heads, query, key), and its backward is
        # a plain scatter-add into the table.
        table = self.table().expand(batch, -1, -1)
        factor = table.gather(2, steps.expand(-1, self.num_heads, -1))
        return Decay(factor.view(batch, self.num_heads, seq, seq), self.mode)

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: Decay) -> Terms:
        """The same decay in every layer."""
        return Terms(decay=state)
