"""Requests that come together are answered together: one pass through the model for the texts of all."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from typing import Any

from anyio import to_thread

from weft.errors import LimitError, WeftError

_MOST = 1024
"""Requests that wait, at most."""
_TOGETHER = 512
"""Questions of one pass, but for a request that has more by itself."""


class Batches:
    """What stands between the requests and the model.

    While one batch is answered, the next one gathers.

    Args:
        ask: Answers requests in their order, as JSON; blocks.
    """

    def __init__(self, ask: Callable[[list[dict[str, Any]]], bytes]) -> None:
        self._ask = ask
        self._waiting: deque[tuple[dict[str, Any], asyncio.Future[Any]]] = deque()
        self._running: asyncio.Task[None] | None = None

    async def answer(self, request: dict[str, Any]) -> Any:
        """The answer of one request.

        Raises:
            LimitError: Too many wait.
            WeftError: It cannot be answered.
        """
        if len(self._waiting) >= _MOST:
            raise LimitError("too many questions wait", hint="ask again later")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
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

    def _next(self) -> list[tuple[dict[str, Any], asyncio.Future[Any]]]:
        batch: list[tuple[dict[str, Any], asyncio.Future[Any]]] = []
        questions = 0
        while self._waiting and (not batch or questions < _TOGETHER):
            request, future = self._waiting.popleft()
            if future.done():
                continue  # whoever asked is gone
            batch.append((request, future))
            questions += len(request["texts"]) * len(request["aspects"]) * max(1, len(request["targets"]))
        return batch

    async def _answer(self, batch: list[tuple[dict[str, Any], asyncio.Future[Any]]]) -> None:
        if not batch:
            return
        try:
            found = json.loads(await to_thread.run_sync(self._ask, [request for request, _ in batch]))
        except WeftError as error:
            if len(batch) == 1:
                _settle(batch[0][1], error=error)
                return
            for one in batch:  # what one of them did wrong is not the others' fault
                await self._answer([one])
            return
        except BaseException as error:
            for _, future in batch:
                _settle(future, error=error)
            raise
        for (_, future), answer in zip(batch, found, strict=True):
            _settle(future, answer)


def _settle(future: asyncio.Future[Any], answer: Any = None, error: BaseException | None = None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)
