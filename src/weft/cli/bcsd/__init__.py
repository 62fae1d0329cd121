"""``weft bcsd``: which function of this binary is which function of that one."""

from __future__ import annotations

from weft.cli.subcommands import run_subcommand

COMMANDS: dict[str, tuple[str, str]] = {
    "extract": ("weft.cli.bcsd.extract", "binaries to a table of functions: graphs and tokens"),
    "show": ("weft.cli.bcsd.show", "a file's functions, or one function's blocks, edges and tokens"),
    "match": ("weft.cli.bcsd.match", "pair the functions of two binaries; report, rename scripts"),
    "explain": ("weft.cli.bcsd.explain", "which blocks and tokens carry the match of two functions"),
    "calibrate": ("weft.cli.bcsd.calibrate", "fit what match makes of a model's scores"),
    "embed": ("weft.cli.bcsd.embed", "binaries to a table of embedded functions"),
    "index": ("weft.cli.bcsd.index", "keep an index of functions: add, update, rm, ls"),
    "search": ("weft.cli.bcsd.search", "which functions of an index are those of a file"),
    "dataset": ("weft.cli.bcsd.dataset", "build labelled functions from source packages; count them"),
    "train": ("weft.cli.bcsd.train", "train a model by a YAML file"),
    "eval": ("weft.cli.bcsd.eval", "recall of a model and of the baselines on held-out packages"),
}


def run(argv: list[str]) -> int:
    """Find the subcommand, import it, run it."""
    return run_subcommand("bcsd", "Binary code similarity.", COMMANDS, argv)
