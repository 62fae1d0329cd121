"""Long work: what is being done, once it takes its time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Event, Thread, Timer

from weft.errors import in_one_line

PATIENCE = 10.0
"""Seconds of a command that pass without a word."""
_LONGEST = 320.0
"""Most seconds between two words of one wait."""


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


@contextmanager
def reminding(
    line: Callable[[], str], patience: float, *, quiet: bool = False
) -> Generator[Callable[[], None]]:
    """Say a line on the error stream whenever nothing else was said for so many seconds, then after twice as many.

    Args:
        line: What is said.
        patience: Seconds that pass without a word.
        quiet: Whether nothing is said.

    Yields:
        What the body calls where it has said something itself.
    """
    ended, heard = Event(), Event()

    def watch() -> None:
        wait = patience
        while not ended.wait(wait):
            if heard.is_set():
                heard.clear()
                wait = patience
                continue
            say(line)
            wait = min(2 * wait, _LONGEST)

    watcher = Thread(target=watch, daemon=True)
    if not quiet:
        watcher.start()
    try:
        yield heard.set
    finally:
        ended.set()
        if not quiet:
            watcher.join()


def say(line: Callable[[], str]) -> None:
    """Say it, in one line; nobody may be listening any more, which is no reason to stop."""
    told = in_one_line(line())
    with suppress(OSError, ValueError):
        print(told, file=sys.stderr, flush=True)
