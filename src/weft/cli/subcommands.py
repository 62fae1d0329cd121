"""Commands below a command, such as ``weft kg build``: found by name, imported when they run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from weft.errors import ConfigError


def usage(command: str, summary: str, commands: Mapping[str, tuple[str, str]]) -> str:
    """The text of ``weft COMMAND --help``."""
    lines = [f"usage: weft {command} COMMAND [ARGUMENT...]", "", summary, "", "commands:"]
    lines += [f"  {name:<8} {what}" for name, (_, what) in commands.items()]
    return "\n".join([*lines, "", f"`weft {command} COMMAND --help` for a command's own arguments"])


def run_subcommand(
    command: str, summary: str, commands: Mapping[str, tuple[str, str]], argv: list[str]
) -> int:
    """Find the subcommand, import its module, run it.

    Args:
        command: The command above, for messages.
        summary: What it is for.
        commands: For each name the module with its ``run(argv)``, and what it does.
        argv: What stands behind the command.

    Raises:
        ConfigError: No such subcommand.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print(usage(command, summary, commands))
        return 0 if argv else ConfigError.exit_code
    name, *rest = argv
    if name not in commands:
        raise ConfigError(f"no command {name!r}", hint=f"one of: {', '.join(commands)}")
    return int(import_module(commands[name][0]).run(rest))
