"""``weft bcsd train``: train a function model by a YAML file."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from weft.errors import ConfigError


def run(argv: list[str]) -> int:
    """Run the command."""
    if not argv or argv[0] in ("-h", "--help"):
        print(
            "usage: weft bcsd train CONFIG [--FIELD VALUE...] [--quiet]\n\n"
            "Train a function model by a YAML file; run again, it goes on where it stopped. Any field of the\n"
            "file can be given as a flag as well: --train.steps 2000 --model.prefix none. Several processes:\n"
            "torchrun --nproc-per-node 2 -m weft bcsd train CONFIG. See examples/bcsd/train.yaml."
        )
        return 0 if argv else ConfigError.exit_code
    if argv[0].startswith("-"):
        raise ConfigError(f"the first argument is {argv[0]!r}; it must be the configuration file")
    quiet = "--quiet" in argv
    rest = [argument for argument in argv[1:] if argument != "--quiet"]

    from jsonargparse import ArgumentParser

    from weft.bcsd.learn.setup import Setup, run_setup
    from weft.train.distributed import World

    # jsonargparse leaves its own signatures partly untyped.
    parser: Any = ArgumentParser(prog="weft bcsd train", exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_class_arguments(Setup)
    try:
        parsed: Any = parser.parse_args(["--config", argv[0], *rest])
        built: Any = parser.instantiate(parsed)
    except (argparse.ArgumentError, TypeError, ValueError) as error:
        raise ConfigError(str(error).replace("\n", " "), where=argv[0]) from error
    setup = Setup(**{entry.name: getattr(built, entry.name) for entry in fields(Setup)})
    outcome = run_setup(setup, quiet=quiet)
    if not World.launched().first:
        return 0
    weights = outcome.weights
    found = "" if outcome.validation is None else f"; hybrid Recall@1 on validation {outcome.validation:.3f}"
    print(
        f"{setup.output}: {outcome.history.step} steps; lexical {weights.lexical:g}, hubness {weights.hubness:g}, "
        f"{weights.neighbours} neighbours{found}"
    )
    return 0
