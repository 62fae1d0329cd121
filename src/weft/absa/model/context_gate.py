"""CG-BERT's conditioning: the context gates the queries and keys of an ordinary softmax."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.attention.terms import Decay, Terms
from weft.condition.conditioner import Conditioner
from weft.condition.quasi import QuasiConfig, QuasiStructure
from weft.errors import ShapeError


class ContextGate(Conditioner):
    """Context-guided softmax attention.

    ::

        C   = [E_c ; h]·W_cᵀ + b + E_c        C_Q, C_K = split heads of C·Z_Qᵀ, C·Z_Kᵀ
        λ_Q = sigmoid(Q·v_Q + C_Q·v_Q^C)      λ_K likewise from K and C_K
        Q̂   = (1 − λ_Q)·Q + λ_Q·C_Q           K̂ likewise
        A   = softmax(Q̂·K̂ᵀ·D^-½)

    It reaches attention as a factor on the weights, F = exp((Q̂·K̂ᵀ − Q·Kᵀ)·D^-½): softmax(S + log F) is the
    softmax of the gated scores exactly, and no attention code has to know about it.

    Args:
        config: Sizes; ``gate``, ``normalised`` and α, β, γ have no meaning here.

    Structure:
        :class:`weft.condition.quasi.QuasiStructure`.

    Source:
        Yang et al. 2019, "Context-Aware Self-Attention Networks", equations 7–9, as used for CG-BERT in
        Wu & Ong 2021, section "Context-Guided Softmax-attention".
    """

    def __init__(self, config: QuasiConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(_GateLayer(config) for _ in range(config.num_layers - config.first_layer))

    def prepare(self, structure: QuasiStructure) -> QuasiStructure:
        """Check the structure.

        Raises:
            ShapeError: The context is not ``(batch, hidden)``.
        """
        if structure.context.dim() != 2 or structure.context.shape[1] != self.config.hidden_size:
            raise ShapeError(
                f"the context has shape {tuple(structure.context.shape)}; "
                f"it must be (batch, {self.config.hidden_size})"
            )
        return structure

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: QuasiStructure) -> Terms:
        """The factor that turns the layer's scores into the gated ones, none below ``first_layer``."""
        if layer < self.config.first_layer:
            return Terms()
        gated_query, gated_key = self.layers[layer - self.config.first_layer](
            hidden, state.context, query, key
        )
        scale = query.shape[-1] ** -0.5
        change = (gated_query @ gated_key.transpose(-1, -2) - query @ key.transpose(-1, -2)) * scale
        return Terms(decay=Decay(change.exp(), "weights"))


class _GateLayer(nn.Module):
    """The parameters of one layer."""

    def __init__(self, config: QuasiConfig) -> None:
        super().__init__()
        hidden, width = config.hidden_size, config.hidden_size // config.num_heads
        self.heads = config.num_heads
        self.context_layer = nn.Linear(2 * hidden, hidden)
        self.context_query = nn.Linear(hidden, hidden)
        self.context_key = nn.Linear(hidden, hidden)
        self.lambda_query = nn.Linear(width, 1)
        self.lambda_key = nn.Linear(width, 1)
        self.lambda_context_query = nn.Linear(width, 1, bias=False)
        self.lambda_context_key = nn.Linear(width, 1, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        for name, module in self.named_children():
            if isinstance(module, nn.Linear):
                std = config.lambda_range if name.startswith("lambda") else config.initializer_range
                nn.init.normal_(module.weight, std=std)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def forward(self, hidden: Tensor, context: Tensor, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Q̂ and K̂, ``(batch, heads, seq, D)``."""
        wide = context[:, None].expand_as(hidden)
        mixed = self.context_layer(torch.cat([wide, hidden], dim=-1)) + wide
        context_query = self.dropout(self._split(self.context_query(mixed)))
        context_key = self.dropout(self._split(self.context_key(mixed)))
        gate_query = torch.sigmoid(self.lambda_query(query) + self.lambda_context_query(context_query))
        gate_key = torch.sigmoid(self.lambda_key(key) + self.lambda_context_key(context_key))
        return (
            (1 - gate_query) * query + gate_query * context_query,
            (1 - gate_key) * key + gate_key * context_key,
        )

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
