"""``weft absa``: predict, explain, train, evaluate."""

from __future__ import annotations

import sys
from importlib import import_module

from weft.errors import ConfigError

_COMMANDS = {
    "predict": ("weft.cli.absa.predict", "what texts feel about aspects of targets"),
    "explain": ("weft.cli.absa.explain", "which words made the answer"),
    "train": ("weft.cli.absa.train", "train a model by a configuration file"),
    "eval": ("weft.cli.absa.eval", "measure a model on labelled texts"),
}


def usage() -> str:
    """The text of ``weft absa --help``."""
    lines = ["usage: weft absa COMMAND [ARGUMENT...]", "", "commands:"]
    lines += [f"  {name:<8} {summary}" for name, (_, summary) in _COMMANDS.items()]
    return "\n".join([*lines, "", "`weft absa COMMAND --help` shows a command's arguments."])


def run(argv: list[str]) -> int:
    """Run ``weft absa …``."""
    if not argv or argv[0] in ("-h", "--help"):
        print(usage(), file=sys.stdout if argv else sys.stderr)
        return 0 if argv else ConfigError.exit_code
    name, *rest = argv
    if name not in _COMMANDS:
        raise ConfigError(f"no command {name!r}", hint=f"one of: {', '.join(_COMMANDS)}")
    return int(import_module(_COMMANDS[name][0]).run(rest))
