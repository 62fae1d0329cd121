"""Coloured output for a person."""

from __future__ import annotations

from rich.console import Console


class PipedConsole(Console):
    """A console whose reader may go away (`weft … | head`): the error passes, as of any other print."""

    def on_broken_pipe(self) -> None:
        """Let the error that is being handled pass; rich would end the process with exit code 1."""
        raise  # noqa: PLE0704 - called while it is handled
