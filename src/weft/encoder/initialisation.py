"""How new weights are drawn."""

from __future__ import annotations

from torch import nn


def initialise(module: nn.Module, std: float) -> None:
    """Draw the weights of every linear and embedding layer from N(0, std²) and set their biases to 0.

    LayerNorm keeps γ = 1 and β = 0, which PyTorch gives it.

    Args:
        module: Its own parameters and those of everything inside it are drawn anew.
        std: Standard deviation, ``EncoderConfig.initializer_range``.
    """
    for part in module.modules():
        if isinstance(part, (nn.Linear, nn.Embedding)):
            nn.init.normal_(part.weight, std=std)
        if isinstance(part, nn.Linear) and part.bias is not None:
            nn.init.zeros_(part.bias)
