"""``weft bcsd``: which function of this binary is which function of that one."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS: dict[str, tuple[str, str]] = {
    "extract": ("weft.cli.bcsd.extract", "binaries to a table of functions: graphs and tokens"),
    "show": ("weft.cli.bcsd.show", "a file's functions, or one function's blocks, edges and tokens"),
    "dataset": ("weft.cli.bcsd.dataset", "build labelled functions from source packages; count them"),
}


def usage() -> str:
    """The text of ``weft bcsd --help``."""
    lines = ["usage: weft bcsd COMMAND [ARGUMENT...]", "", "Binary code similarity.", "", "commands:"]
    lines += [f"  {name:<8} {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join([*lines, "", "`weft bcsd COMMAND --help` for a command's own arguments"])


def run(argv: list[str]) -> int:
    """Find the subcommand, import it, run it."""
    if not argv or argv[0] in ("-h", "--help"):
        print(usage())
        return 0 if argv else 2
    name, *rest = argv
    if name not in COMMANDS:
        print(f"weft bcsd: no command {name!r} (one of: {', '.join(COMMANDS)})", file=sys.stderr)
        return 2
    return int(import_module(COMMANDS[name][0]).run(rest))
