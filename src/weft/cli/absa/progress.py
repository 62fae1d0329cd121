"""How far the questions about a table are answered, while they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_COUNTED = 1 << 26
"""Bytes of a file up to which its rows are counted beforehand: a second or so."""


@contextmanager
def asking(
    path: str, rows: Callable[[], Iterable[Any]], each: int, *, quiet: bool
) -> Generator[Callable[[int], None]]:
    """A bar on a terminal's error stream; called with how many questions are answered further.

    Args:
        path: The table; a pipe, or a file that is long to read, has no total.
        rows: Its rows, read once more to count them.
        each: Questions about each row.
        quiet: No bar.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    shown = not quiet and console.is_terminal
    total = each * sum(1 for _ in rows()) if shown and _countable(Path(path)) else None
    far = "{task.completed:,.0f}" + ("" if total is None else " of {task.total:,.0f}") + " questions"
    ahead = () if total is None else (BarColumn(), TimeRemainingColumn())
    bar = Progress(
        TextColumn(far),
        TimeElapsedColumn(),
        *ahead,
        console=console,
        disable=not shown,
        # The answers go where they are sent; on the terminal itself they stand above the bar.
        redirect_stdout=sys.stdout.isatty(),
    )
    with bar:
        task = bar.add_task("predict", total=total)

        def advance(done: int) -> None:
            bar.advance(task, done)

        yield advance


def _countable(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= _COUNTED
