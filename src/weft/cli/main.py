"""The ``weft`` command: finds the command, runs it, turns errors into one line and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from types import FrameType

from weft import __version__
from weft.cli.commands import Command, find, usage
from weft.errors import ConfigError, InputError, Interrupted, LimitError, WeftError
from weft.platform.memory import collect_seldom, keep_freed_memory, lacks_memory
from weft.platform.reading import cannot_read
from weft.platform.unwritable import cannot_write

UNFORESEEN = 70
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_LONGEST = 300


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    name = "weft"
    for closed, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, closed) is None:  # by whoever started us: `weft … >&-`
            setattr(sys, closed, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - as long as the process
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # An argument may hold bytes that are no text, and a terminal may know few letters.
        reconfigure(errors="backslashreplace")
    if argv is None and threading.current_thread() is threading.main_thread():
        _stop_when_asked()
    try:
        if arguments[:1] == ["--version"]:
            return _said(f"weft {__version__}")
        path, command, rest = find(arguments)
        name = " ".join(["weft", *path])
        if command.commands:
            return _said(usage(path, command), 0 if rest else ConfigError.exit_code)
        # In a process of ours; benchmarks ask for it themselves, for other forms gain by it as well.
        if argv is None and path != ("bench",):
            keep_freed_memory()
            collect_seldom()
        return _ran(command, rest)
    except WeftError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{name}: stopped", file=sys.stderr)
        return Interrupted.exit_code
    except BrokenPipeError:
        # The reader of our output went away (`weft … | head`): not a failure, and nothing to print to.
        _drop_output()
        return 0
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            return _unforeseen(name, error)
        tell = cannot_write if error.errno in _FULL else cannot_read
        told = tell(error, "the output" if error.filename is None else os.fsdecode(error.filename))
        print(f"{name}: {told}", file=sys.stderr)
        _drop_output()
        return told.exit_code
    except Exception as error:  # noqa: BLE001 - see _unforeseen
        if not lacks_memory(error):
            return _unforeseen(name, error)
        said = str(error).strip().splitlines()[-1:]
        told = LimitError(
            " ".join(["needs more memory than there is", *said])[:_LONGEST], hint="ask for less at once"
        )
        print(f"{name}: {told}", file=sys.stderr)
        return told.exit_code
    except BaseException as error:
        # A panic in a library written in Rust, which is no Exception and has no class that can be imported.
        if type(error).__name__ != "PanicException":
            raise
        return _unforeseen(name, error)


def _said(text: str, code: int = 0) -> int:
    """Print something, and hear now, not at the end of the process, that it cannot be printed."""
    print(text)
    sys.stdout.flush()
    return code


def _stop_when_asked() -> None:
    """End at SIGTERM as at Ctrl-C, so that nothing half done is left behind; at the second one at once.

    It is what ``timeout``, a scheduler or a machine that goes down sends.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, interrupt)


def _ran(command: Command, arguments: Sequence[str]) -> int:
    try:
        os.getcwd()
    except FileNotFoundError:
        raise InputError(
            "the folder that it is called from was deleted", hint="change to one that is there"
        ) from None
    try:
        code = command.run(arguments)
    except SystemExit as ended:  # argparse has printed a command's own help
        if ended.code:
            raise
        code = 0
    sys.stdout.flush()
    return code


def _unforeseen(name: str, error: BaseException) -> int:
    """What nobody foresaw: a fault of ours, said in one line, for this is the last place before the user.

    Every room below raises what it knows and lets the rest pass; only here a broad ``except`` loses nothing, because
    ``WEFT_DEBUG=1`` shows all of it.
    """
    if os.environ.get("WEFT_DEBUG") == "1":
        traceback.print_exception(error)
    said = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
    print(
        f"{name}: a fault of weft's own: {said} (WEFT_DEBUG=1 shows where; please report it)",
        file=sys.stderr,
    )
    return UNFORESEEN


def _drop_output() -> None:
    """Let what is still in the buffer of standard output go nowhere, so that the interpreter ends quietly."""
    try:
        target = sys.stdout.fileno()
    except (OSError, ValueError):
        return  # no stream of the system's
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, target)
    os.close(nowhere)
