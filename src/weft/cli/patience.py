"""Long work: what is being done, once it takes its time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Timer

from weft.errors import in_one_line

PATIENCE = 10.0
"""Seconds of a command that pass without a word."""


@contextmanager
def saying(line: Callable[[], str], patience: float, *, quiet: bool = False) -> Generator[None]:
    """Say a line on the error stream where the body is not done after so many seconds.

    Args:
        line: What is said.
        patience: Seconds that pass without a word.
        quiet: Whether nothing is said.
    """
    clock = Timer(patience, say, (line,))
    clock.daemon = True
    if not quiet:
        clock.start()
    try:
        yield
    finally:
        clock.cancel()
        if not quiet:
            clock.join()


def say(line: Callable[[], str]) -> None:
    """Say it, in one line; nobody may be listening any more, which is no reason to stop."""
    told = in_one_line(line())
    with suppress(OSError, ValueError):
        print(told, file=sys.stderr, flush=True)
