"""The machine that torch computes on: which device, how many threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.errors import ConfigError

if TYPE_CHECKING:
    import torch

_MOST_THREADS = 1024
"""More end the process in OpenMP."""


def device_named(name: str, place: int = 0) -> torch.device:
    """The device of a name, or for ``auto`` an accelerator if there is one.

    Args:
        name: ``auto``, or as torch spells it.
        place: The number of the accelerator where the name has none.

    Raises:
        ConfigError: A device that torch does not know or that this machine lacks.
    """
    import torch

    asked = name
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type not in ("cpu", "cuda"):
            torch.empty(1, device=device)
    except (RuntimeError, AssertionError, ImportError) as error:
        raise ConfigError(f"device is {asked!r}; no such device", hint="auto, cpu or cuda") from error
    if device.type == "meta":
        raise ConfigError("device is 'meta', which computes nothing", hint="auto, cpu or cuda")
    if device.type != "cuda":
        return device
    index = place if device.index is None else device.index
    if index >= torch.cuda.device_count():
        raise ConfigError(
            f"device is {asked!r}, which is cuda:{index} here; torch sees {torch.cuda.device_count()}",
            hint="cpu is always there",
        )
    return torch.device("cuda", index)


def use_threads(count: int | None) -> None:
    """Let torch compute with so many threads of the CPU; None leaves its own choice.

    Raises:
        ConfigError: None, or more than any machine has.
    """
    if count is None:
        return
    if not 1 <= count <= _MOST_THREADS:
        raise ConfigError(f"threads is {count}; it must be at least 1 and at most {_MOST_THREADS:,}")
    import torch

    torch.set_num_threads(count)
