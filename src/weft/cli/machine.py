"""Arguments that say where a command runs, shared by every command that computes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from weft.errors import ConfigError

if TYPE_CHECKING:
    import torch


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Where it runs and what it says."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, … (auto)")
    parser.add_argument("--threads", type=int, help="threads of the CPU; all by default")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def device_of(arguments: argparse.Namespace) -> torch.device:
    """The device that the arguments name, with the CPU's threads set.

    Raises:
        ConfigError: Fewer than one thread, or no such device.
    """
    import torch

    if arguments.threads is not None:
        if arguments.threads < 1:
            raise ConfigError(f"--threads is {arguments.threads}; it must be at least 1")
        torch.set_num_threads(arguments.threads)
    name = arguments.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"--device is {name!r}; no such device", hint="cpu or cuda") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"--device is {name!r}; there is no CUDA device here", hint="use --device cpu")
    return device
