"""``weft absa train``: train a model by a YAML file."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from typing import Any

from weft.cli.absa.report import print_report
from weft.errors import ConfigError, PartialFailure


def run(argv: list[str]) -> int:
    """Run the command."""
    if not argv or argv[0] in ("-h", "--help"):
        print(
            "usage: weft absa train CONFIG [--FIELD VALUE...] [--quiet] [--json]\n\n"
            "Train a model by a YAML file; run again, it goes on where it stopped. Any field of the file can\n"
            "be given as a flag as well: --train.epochs 8 --model.kind pair. See examples/absa/train.yaml."
        )
        return 0 if argv else ConfigError.exit_code
    if argv[0].startswith("-"):
        raise ConfigError(f"the first argument is {argv[0]!r}; it must be the configuration file")
    quiet, as_json = "--quiet" in argv, "--json" in argv
    rest = [argument for argument in argv[1:] if argument not in ("--quiet", "--json")]

    from jsonargparse import ArgumentParser

    from weft.absa.learn.setup import Setup, run_setup

    # jsonargparse leaves its own signatures partly untyped.
    parser: Any = ArgumentParser(prog="weft absa train", exit_on_error=False)
    parser.add_argument("--config", action="config")
    parser.add_class_arguments(Setup)
    try:
        parsed: Any = parser.parse_args(["--config", argv[0], *rest])
        built: Any = parser.instantiate(parsed)
    except (argparse.ArgumentError, TypeError, ValueError) as error:
        raise ConfigError(str(error).replace("\n", " "), where=argv[0]) from error
    setup = Setup(**{entry.name: getattr(built, entry.name) for entry in fields(Setup)})
    outcome = run_setup(setup, quiet=quiet)
    print_report(outcome.results, as_json, heading=f"{outcome.directory}, on the held-out sentences")
    if outcome.problems:
        for line in outcome.problems:
            print(f"weft absa train: {line}", file=sys.stderr)
        raise PartialFailure("some rows could not be used; the model was trained on the others")
    return 0
