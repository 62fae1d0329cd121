"""Requests that come together are answered together: one pass through a model, or an index, for all."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from anyio import to_thread

from weft.errors import WeftError
from weft.serve.problems import Refusal

_MOST = 1024
"""Requests that wait, at most."""
_Waiting = tuple[Any, asyncio.Future[bytes]]


class Batches:
    """What stands between the requests and the model.

    While one batch is answered, the next one gathers.

    Args:
        ask: Answers requests in their order, each as JSON; blocks.
        together: Questions of one batch, but for a request that has more by itself.
        questions: How many a request has.
    """

    def __init__(
        self,
        ask: Callable[[list[Any]], list[bytes]],
        together: int,
        questions: Callable[[Any], int] = lambda _: 1,
    ) -> None:
        self._ask, self._together, self._questions = ask, together, questions
        self._waiting: deque[_Waiting] = deque()
        self._running: asyncio.Task[None] | None = None

    async def answer(self, request: Any) -> bytes:
        """The answer of one request, as JSON.

        Raises:
            Refusal: Too many wait.
            WeftError: It cannot be answered.
        """
        if len(self._waiting) >= _MOST:
            raise Refusal(
                429, "busy", "Too many questions wait", f"{_MOST} were asked before", Retry_After="5"
            )
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def _run(self) -> None:
        try:
            while self._waiting:
                batch = self._next()
                await self._answer(batch)
        finally:
            self._running = None

    def _next(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        questions = 0
        while self._waiting and (not batch or questions < self._together):
            request, future = self._waiting.popleft()
            if future.done():
                continue  # whoever asked is gone
            batch.append((request, future))
            questions += self._questions(request)
        return batch

    async def _answer(self, batch: list[_Waiting]) -> None:
        if not batch:
            return
        try:
            found = await to_thread.run_sync(self._ask, [request for request, _ in batch])
            answered = list(zip(batch, found, strict=True))
        except WeftError as error:
            if len(batch) == 1:
                _settle(batch[0][1], error=error)
                return
            for one in batch:  # what one of them did wrong is not the others' fault
                await self._answer([one])
            return
        except Exception as error:  # noqa: BLE001 - it is told to who asked; the others still wait
            for _, future in batch:
                _settle(future, error=error)
            return
        for (_, future), answer in answered:
            _settle(future, answer)


def _settle(future: asyncio.Future[bytes], answer: bytes = b"", error: Exception | None = None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)
