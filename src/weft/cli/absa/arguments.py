"""Arguments that the ``weft absa`` commands share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from weft.cli.machine import add_machine, device_of

if TYPE_CHECKING:
    from weft.absa.use.asker import Asker


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model."""
    parser.add_argument("--model", default="absa-small", help="a shipped model or a directory (absa-small)")


def add_precision(parser: argparse.ArgumentParser) -> None:
    """In which arithmetic it answers."""
    parser.add_argument(
        "--precision",
        choices=("fp32", "bf16", "int8", "auto"),
        default="fp32",
        help="fp32 (default) gives the same answers everywhere; bf16 and int8 are faster on processors that "
        "have them and move probabilities a little; auto is the fastest that there is",
    )


def add_answers(parser: argparse.ArgumentParser) -> None:
    """How answers are printed, and which model gives them, in what arithmetic, on what machine."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_model(parser)
    add_precision(parser)
    add_machine(parser)


def load_asker(arguments: argparse.Namespace) -> Asker:
    """Load the model that the arguments name, on their device and in their precision.

    Raises:
        CheckpointError: No such model, or a damaged one.
        ConfigError: Fewer than one thread, or no such device.
    """
    from weft.absa.use.store import load

    device = device_of(arguments)
    return load(arguments.model).to(device).compute_in(getattr(arguments, "precision", "fp32"))
