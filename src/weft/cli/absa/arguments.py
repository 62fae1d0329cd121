"""Arguments that the ``weft absa`` commands share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from weft.errors import ConfigError

if TYPE_CHECKING:
    from weft.absa.use.asker import Asker


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model."""
    parser.add_argument("--model", default="absa-small", help="a shipped model or a directory (absa-small)")


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Where it runs and what it says."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, … (auto)")
    parser.add_argument("--threads", type=int, help="threads of the CPU; all by default")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def load_asker(arguments: argparse.Namespace) -> Asker:
    """Load the model that the arguments name, on their device.

    Raises:
        CheckpointError: No such model, or a damaged one.
        ConfigError: Fewer than one thread, or no such device.
    """
    import torch

    from weft.absa.use.store import load

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
    return load(arguments.model).to(device)
