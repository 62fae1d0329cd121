"""Arguments of the commands that embed files."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from weft.cli.options import (
    Parser,
    add_cache,
    add_lifter,
    add_model,
    add_precision,
    add_reading,
    add_workers,
    at_least,
    limits_of,
    workers_of,
)

if TYPE_CHECKING:
    from weft.bcsd.use.embed_files import Embedding


def add_embedding(parser: Parser, workers: bool = True) -> None:
    """Which model, which disassembler, how many processes, within which limits."""
    add_model(parser, "bcsd-small")
    add_precision(parser, "auto")
    add_reading(parser)
    add_lifter(parser)
    add_cache(parser)
    if workers:
        add_workers(parser)


def embedding_of(arguments: argparse.Namespace, min_blocks: int = 0, *, once: bool = False) -> Embedding:
    """The options that the arguments say.

    Args:
        arguments: Of :func:`add_embedding`.
        min_blocks: Functions with fewer blocks are left out.
        once: The command embeds one file; the processes that do so begin to load at once, beside this one.

    Raises:
        ConfigError: One of them breaks its rule.
    """
    if once:
        from weft.platform.processes import get_ready

        get_ready("weft.bcsd.use.embed_one")
    from weft.bcsd.use.embed_files import Embedding

    at_least(0, min_blocks=min_blocks)
    at_least(1024, memory=arguments.memory)
    return Embedding(
        model=arguments.model,
        disassembler=arguments.disassembler,
        min_blocks=min_blocks,
        precision=arguments.precision,
        workers=workers_of(arguments) if hasattr(arguments, "workers") else 1,
        limits=limits_of(arguments),
        lifter=arguments.lifter,
        cache=arguments.cache,
        once=once,
    )
