"""The ``weft`` command: finds the command's module, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from weft import __version__
from weft.errors import Interrupted, WeftError
from weft.platform.memory import keep_freed_memory


@dataclass(frozen=True)
class Command:
    """One command of the top level: its module is imported only when it runs."""

    module: str
    summary: str


COMMANDS: dict[str, Command] = {
    "absa": Command(
        "weft.cli.absa", "what texts feel about aspects of targets: predict, explain, train, eval"
    ),
    "bcsd": Command("weft.cli.bcsd", "find which function of one binary is which function of another"),
    "bench": Command("weft.cli.bench", "measure speed and memory as ratios against named baselines"),
    "demo": Command("weft.cli.demo", "see the mechanisms and the applications at work on real input"),
    "kg": Command(
        "weft.cli.kg", "knowledge graphs from text and code: build, train, extract, query, show, …"
    ),
    "models": Command("weft.cli.models", "list the shipped models with their cards"),
}


def usage() -> str:
    """The text of ``weft --help``."""
    lines = [
        "usage: weft COMMAND [ARGUMENT...]",
        "",
        "Structure woven into the attention of BERT-family encoders.",
        "",
        "commands:",
        *(f"  {name:<8} {command.summary}" for name, command in COMMANDS.items()),
        "",
        "options:",
        "  -h, --help     this text; `weft COMMAND --help` for a command's own",
        "  --version      the version",
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 2
    name, *rest = arguments
    if name == "--version":
        print(f"weft {__version__}")
        return 0
    command = COMMANDS.get(name)
    if command is None:
        known = ", ".join(COMMANDS)
        print(f"weft: no command {name!r} (one of: {known})", file=sys.stderr)
        return 2
    # In a process of ours; benchmarks ask for it themselves, for other forms gain by it as well.
    if argv is None and name != "bench":
        keep_freed_memory()
    try:
        return int(import_module(command.module).run(rest))
    except WeftError as error:
        print(f"weft {name}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"weft {name}: stopped", file=sys.stderr)
        return Interrupted.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`weft … | head`): not a failure, and nothing to print to.
        sys.stderr.close()
        return 0
