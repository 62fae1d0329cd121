"""AdamW over the right groups of parameters: what decays, and which layer learns how fast."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import torch
from torch import nn

from weft.errors import ConfigError, InputError
from weft.train.config import TrainConfig

_LAYER = re.compile(r"(?:^|(?:^|\.)encoder\.)layers?\.(\d+)\.")
_EMBEDDINGS = re.compile(r"(?:^|\.)embeddings?\.")


def build_optimizer(model: nn.Module, config: TrainConfig, device: torch.device) -> torch.optim.AdamW:
    """AdamW over the trainable parameters; fused on CUDA.

    Source: Loshchilov & Hutter 2019, Decoupled Weight Decay Regularization, Algorithm 2.
    """
    return torch.optim.AdamW(
        parameter_groups(model, config),
        lr=config.learning_rate,
        betas=config.betas,
        eps=config.epsilon,
        fused=device.type == "cuda",
    )


def parameter_groups(model: nn.Module, config: TrainConfig) -> list[dict[str, Any]]:
    """The trainable parameters in groups of one decay and one learning rate.

        decay = config.weight_decay, 0 for norms and every tensor of at most one dimension
        scale = layer_decay^(layers above)      top layer and heads 1, embeddings layer_decay^layers
        and, of a parameter in model.learning_rate_scales, times the number given there

    Args:
        model: Its encoder's layers are the parameters named ``encoder.layers.N.…`` (or ``layers.N.…``),
            its embeddings those with a part named ``embeddings``. Its attribute ``learning_rate_scales``,
            where it has one, maps names of parameters to numbers: Adam moves every parameter by about
            the rate in a step, and a factor of order 1 that starts at 0 needs more than a weight of 0.02.
        config: The decays.

    Returns:
        Groups for a torch optimiser; each also holds ``scale`` and the ``names`` of its parameters.

    Raises:
        InputError: Nothing to train.
        ConfigError: A ``layer_decay`` for a model without encoder layers.
    """
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    if not named:
        raise InputError("the model has no trainable parameter")
    norms = {
        f"{prefix}.{name}" if prefix else name
        for prefix, module in model.named_modules()
        if isinstance(module, nn.LayerNorm | nn.RMSNorm)
        for name, _ in module.named_parameters(recurse=False)
    }
    depths = [int(match[1]) for name, _ in named if (match := _LAYER.search(name))]
    if config.layer_decay < 1 and not depths:
        raise ConfigError(
            f"TrainConfig.layer_decay is {config.layer_decay}, and no parameter is named encoder.layers.N.…"
        )
    layers = max(depths, default=-1) + 1
    scales: dict[str, float] = getattr(model, "learning_rate_scales", {})
    groups: dict[tuple[float, float], list[tuple[str, nn.Parameter]]] = defaultdict(list)
    for name, parameter in named:
        decay = 0.0 if parameter.ndim <= 1 or name in norms else config.weight_decay
        scale = config.layer_decay ** _layers_above(name, layers) * scales.get(name, 1.0)
        groups[decay, scale].append((name, parameter))
    return [
        {
            "params": [parameter for _, parameter in members],
            "names": [name for name, _ in members],
            "weight_decay": decay,
            "scale": scale,
        }
        for (decay, scale), members in groups.items()
    ]


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Give every group its share of the rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]


def _layers_above(name: str, layers: int) -> int:
    if match := _LAYER.search(name):
        return layers - 1 - int(match[1])
    return layers if _EMBEDDINGS.search(name) else 0
