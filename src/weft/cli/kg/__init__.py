"""``weft kg``: knowledge graphs from code."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS: dict[str, tuple[str, str]] = {
    "build": (
        "weft.cli.kg.build",
        "source trees to a data set: chunks, facts, a vocabulary; prints the funnel",
    ),
    "train": ("weft.cli.kg.train", "train a leafy chain model on a data set; resumable"),
    "eval": ("weft.cli.kg.eval", "score a model and the baselines on held-out modules"),
    "facts": (
        "weft.cli.kg.facts",
        "facts of a Python file, each with its confidence, beside the syntax tree's",
    ),
}


def usage() -> str:
    """The text of ``weft kg --help``."""
    lines = ["usage: weft kg COMMAND [ARGUMENT...]", "", "Knowledge graphs from code.", "", "commands:"]
    lines += [f"  {name:<8} {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join([*lines, "", "`weft kg COMMAND --help` for a command's own arguments"])


def run(argv: list[str]) -> int:
    """Find the subcommand, import it, run it."""
    if not argv or argv[0] in ("-h", "--help"):
        print(usage())
        return 0 if argv else 2
    name, *rest = argv
    if name not in COMMANDS:
        print(f"weft kg: no command {name!r} (one of: {', '.join(COMMANDS)})", file=sys.stderr)
        return 2
    return int(import_module(COMMANDS[name][0]).run(rest))
