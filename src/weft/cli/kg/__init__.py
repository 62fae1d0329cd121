"""``weft kg``: knowledge graphs from code."""

from __future__ import annotations

from weft.cli.subcommands import run_subcommand

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


def run(argv: list[str]) -> int:
    """Find the subcommand, import it, run it."""
    return run_subcommand("kg", "Knowledge graphs from code.", COMMANDS, argv)
