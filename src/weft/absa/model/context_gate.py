"""CG-BERT's conditioning: the context gates the queries and keys of an ordinary softmax."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.attention.terms import Decay, Terms
from weft.condition.conditioner import Conditioner
from weft.condition.quasi import ContextLayer, QuasiConfig, QuasiStructure, check_context


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
        self.layers = nn.ModuleList(
            ContextLayer(config) for _ in range(config.num_layers - config.first_layer)
        )

    def prepare(self, structure: QuasiStructure) -> QuasiStructure:
        """Check the structure.

        Raises:
            ShapeError: The context is not ``(batch, hidden)``.
        """
        check_context(structure.context, self.config.hidden_size)
        return structure

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: QuasiStructure) -> Terms:
        """The factor that turns the layer's scores into the gated ones, none below ``first_layer``."""
        if layer < self.config.first_layer:
            return Terms()
        context_query, context_key, gate_query, gate_key = self.layers[layer - self.config.first_layer](
            hidden, state.context, query, key
        )
        gated_query = torch.lerp(query, context_query, gate_query.unsqueeze(-1))
        gated_key = torch.lerp(key, context_key, gate_key.unsqueeze(-1))
        scale = query.shape[-1] ** -0.5
        change = (gated_query @ gated_key.transpose(-1, -2) - query @ key.transpose(-1, -2)) * scale
        return Terms(decay=Decay(change.exp(), "weights"))
