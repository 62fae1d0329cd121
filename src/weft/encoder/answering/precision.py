"""In which arithmetic a model answers, by the processor that it is on."""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch

from weft.attention.operation import cpu_multiplies_bf16
from weft.encoder.answering.product import Arithmetic, cpu_multiplies_int8
from weft.errors import ConfigError

Precision: TypeAlias = Literal["fp32", "bf16", "int8", "auto"]


def arithmetic_of(precision: Precision, device: torch.device) -> Arithmetic | None:
    """What a precision means on a device; None for float32.

    Args:
        precision: ``"auto"`` is eight bits where a CPU multiplies them exactly, else bfloat16 where there is
            hardware for it, else float32.
        device: Where the model is.

    Raises:
        ConfigError: Eight bits elsewhere than on such a CPU.
    """
    on_cpu = device.type == "cpu"
    if precision == "int8" and not on_cpu:
        raise ConfigError(f"products of eight bits: not on {device.type}", hint="use fp32 or bf16")
    if precision == "auto":
        if on_cpu and cpu_multiplies_int8():
            return "int8"
        return "bf16" if not on_cpu or cpu_multiplies_bf16() else None
    return None if precision == "fp32" else precision
