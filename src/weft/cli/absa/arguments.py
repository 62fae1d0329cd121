"""Arguments that the ``weft absa`` commands share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from weft.cli.machine import device_of

if TYPE_CHECKING:
    from weft.absa.use.asker import Asker


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model."""
    parser.add_argument("--model", default="absa-small", help="a shipped model or a directory (absa-small)")


def load_asker(arguments: argparse.Namespace) -> Asker:
    """Load the model that the arguments name, on their device.

    Raises:
        CheckpointError: No such model, or a damaged one.
        ConfigError: Fewer than one thread, or no such device.
    """
    from weft.absa.use.store import load

    device = device_of(arguments)
    return load(arguments.model).to(device)
