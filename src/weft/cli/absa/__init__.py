"""``weft absa``: predict, explain, train, calibrate, evaluate."""

from __future__ import annotations

from weft.cli.subcommands import run_subcommand

COMMANDS: dict[str, tuple[str, str]] = {
    "predict": ("weft.cli.absa.predict", "what texts feel about aspects of targets"),
    "explain": ("weft.cli.absa.explain", "which words made the answer"),
    "train": ("weft.cli.absa.train", "train a model by a configuration file"),
    "calibrate": ("weft.cli.absa.calibrate", "fit temperature and threshold on labelled texts"),
    "eval": ("weft.cli.absa.eval", "measure a model on labelled texts"),
}


def run(argv: list[str]) -> int:
    """Find the subcommand, import it, run it."""
    return run_subcommand("absa", "Targeted aspect sentiment.", COMMANDS, argv)
