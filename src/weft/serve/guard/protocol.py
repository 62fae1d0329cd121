"""Connections that send the head of a request slowly, or without end, are closed: uvicorn waits for them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from weft.serve.guard.gate import CROWDED
from weft.serve.problems import problem

#: Bytes of a head.
LONGEST_HEAD = 64 << 10


def patient_protocol(patience: float, connections: int) -> type[HttpToolsProtocol]:
    """HTTP/1.1 that waits only so many seconds for the head of a request, and takes only so much of one.

    Args:
        patience: Seconds.
        connections: Above so many it tells the gate, which refuses: uvicorn itself would in words of its own.
    """

    class PatientProtocol(HttpToolsProtocol):
        _watch: asyncio.TimerHandle | None = None
        _since = 0.0
        _head = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._since = time.monotonic()
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._watch is not None:
                self._watch.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            waits = self.cycle is None or self.cycle.response_complete
            self._head = self._head + len(data) if waits else 0
            super().data_received(data)
            if self._head > LONGEST_HEAD and (self.cycle is None or self.cycle.response_complete):
                self.send_400_response(f"its head has more than {LONGEST_HEAD:,} bytes")

        def on_headers_complete(self) -> None:
            self._head = 0
            self.scope.setdefault("state", {})[CROWDED] = len(self.connections) > connections
            super().on_headers_complete()

        def send_400_response(self, msg: str) -> None:
            """What is no HTTP is refused as all else is."""
            told = problem(400, "http", "The request is no HTTP", msg, headers={"connection": "close"})
            head = b"".join(name + b": " + value + b"\r\n" for name, value in told.raw_headers)
            self.transport.write(STATUS_LINE[400] + head + b"\r\n" + bytes(told.body))
            self.transport.close()

        def _look(self) -> None:
            if self.transport.is_closing():
                return
            if self.cycle is not None and not self.cycle.response_complete:
                self._since = time.monotonic()  # a request is under way: others watch its body
            elif time.monotonic() - self._since > patience:
                self.transport.close()
                return
            self._watch = self.loop.call_later(min(1.0, patience / 4), self._look)

    return PatientProtocol
