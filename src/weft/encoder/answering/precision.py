"""In which arithmetic a model answers, by the processor that it is on."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import torch

from weft.encoder.answering.product import Arithmetic, fastest_on_cpu
from weft.errors import ConfigError

Precision: TypeAlias = Literal["fp32", "bf16", "int8", "auto"]


def check_precision(name: str, precision: Precision) -> None:
    """Refuse what is none of :data:`Precision`.

    Args:
        name: What it is called, for the message.
        precision: What was given.

    Raises:
        ConfigError: It is none.
    """
    if precision not in (known := get_args(Precision)):
        raise ConfigError(f"{name} is {precision!r}; it must be one of {', '.join(known)}")


def arithmetic_of(precision: Precision, device: torch.device) -> Arithmetic | None:
    """What a precision means on a device; None for float32.

    Args:
        precision: ``"auto"`` is the fastest there is: bfloat16 where the CPU has tiles (AMX) for it, else eight bits
            where it multiplies them exactly, else bfloat16 where there is hardware for it, else float32.
        device: Where the model is.

    Raises:
        ConfigError: Eight bits elsewhere than on such a CPU, or no precision.
    """
    check_precision("precision", precision)
    on_cpu = device.type == "cpu"
    if precision == "int8" and not on_cpu:
        raise ConfigError(f"products of eight bits: not on {device.type}", hint="use fp32 or bf16")
    if precision == "auto":
        return fastest_on_cpu() if on_cpu else "bf16"
    return None if precision == "fp32" else precision
