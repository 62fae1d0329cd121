"""Arguments of the commands that embed files."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from weft.errors import ConfigError

if TYPE_CHECKING:
    from weft.bcsd.use.embed_files import Embedding


def add_embedding(parser: argparse.ArgumentParser, workers: bool = True) -> None:
    """Which model, which disassembler, how many processes, within which limits."""
    parser.add_argument("--model", default="bcsd-small", metavar="NAME|DIR", help="the model (bcsd-small)")
    parser.add_argument("--disassembler", default="auto", metavar="NAME", help="auto, native, angr, smda")
    parser.add_argument(
        "--precision",
        choices=("auto", "fp32", "bf16"),
        default="auto",
        help="auto: bf16 where the processor multiplies it natively",
    )
    if workers:
        parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    parser.add_argument("--timeout", type=float, default=3600.0, metavar="S", help="seconds per file (3600)")
    parser.add_argument(
        "--memory", type=int, default=8192, metavar="MIB", help="address space per file (8192)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress and no summary")


def embedding_of(arguments: argparse.Namespace, min_blocks: int = 0) -> Embedding:
    """The options that the arguments say.

    Raises:
        ConfigError: One of them breaks its rule.
    """
    from weft.bcsd.use.embed_files import Embedding
    from weft.platform.processes import Limits

    workers = getattr(arguments, "workers", 1)
    workers = len(os.sched_getaffinity(0)) if workers is None else workers
    rules = (
        ("--min-blocks", min_blocks, 0),
        ("--workers", workers, 1),
        ("--memory", arguments.memory, 1024),
    )
    for option, value, least in rules:
        if value < least:
            raise ConfigError(f"{option} is {value}; it must be at least {least}")
    if not arguments.timeout > 0:
        raise ConfigError(f"--timeout is {arguments.timeout}; it must be above 0")
    return Embedding(
        model=arguments.model,
        disassembler=arguments.disassembler,
        min_blocks=min_blocks,
        precision=arguments.precision,
        workers=workers,
        limits=Limits(arguments.timeout, arguments.memory),
    )
