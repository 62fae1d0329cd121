"""The ``weft`` command: finds the command, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from weft import __version__
from weft.cli.commands import find, usage
from weft.errors import ConfigError, Interrupted, WeftError
from weft.platform.memory import keep_freed_memory


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--version"]:
        print(f"weft {__version__}")
        return 0
    name = "weft"
    try:
        path, command, rest = find(arguments)
        name = " ".join(["weft", *path])
        if command.commands:
            print(usage(path, command))
            return 0 if rest else ConfigError.exit_code
        # In a process of ours; benchmarks ask for it themselves, for other forms gain by it as well.
        if argv is None and path != ("bench",):
            keep_freed_memory()
        return command.run(rest)
    except WeftError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{name}: stopped", file=sys.stderr)
        return Interrupted.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`weft … | head`): not a failure, and nothing to print to.
        sys.stderr.close()
        return 0
