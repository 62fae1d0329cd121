"""Threads of their own for what waits long: the threads that all share stay free for pages, files and jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from anyio import CapacityLimiter, to_thread

from weft.serve.problems import Refusal

_Given = TypeVarTuple("_Given")
_Found = TypeVar("_Found")


class Lane:
    """A few threads, and a queue before them.

    Args:
        threads: So many at a time.
        most: So many more may wait.
    """

    def __init__(self, threads: int, most: int) -> None:
        self._limiter = CapacityLimiter(threads)
        self._held, self._most = 0, threads + most

    async def run(self, work: Callable[[*_Given], _Found], *given: *_Given) -> _Found:
        """Do something in one of the threads.

        Raises:
            Refusal: Too many wait.
        """
        if self._held >= self._most:
            raise Refusal(
                429, "busy", "Too many questions wait", f"{self._held} were asked before", Retry_After="5"
            )
        self._held += 1
        try:
            return await to_thread.run_sync(work, *given, limiter=self._limiter)
        finally:
            self._held -= 1
