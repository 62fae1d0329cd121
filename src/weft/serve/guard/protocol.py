"""Connections that send the head of a request slowly, or never, are closed: uvicorn waits for them without end."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from weft.serve.problems import problem


def patient_protocol(patience: float) -> type[H11Protocol]:
    """HTTP/1.1 that waits only so many seconds for the head of a request."""

    class PatientProtocol(H11Protocol):
        _watch: asyncio.TimerHandle | None = None
        _since = 0.0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._since = time.monotonic()
            self._look()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._watch is not None:
                self._watch.cancel()
            super().connection_lost(exc)

        def send_400_response(self, msg: str) -> None:
            """What is no HTTP is refused as all else is."""
            told = problem(400, "http", "The request is no HTTP", msg, headers={"connection": "close"})
            head = h11.Response(status_code=400, headers=told.raw_headers, reason=b"Bad Request")
            for event in (head, h11.Data(data=bytes(told.body)), h11.EndOfMessage()):
                output = self.conn.send(event)
                if output:
                    self.transport.write(output)
            self.transport.close()

        def _look(self) -> None:
            if self.transport.is_closing():
                return
            if self.conn.their_state is not h11.IDLE:
                self._since = time.monotonic()  # a request is under way: others watch its body
            elif time.monotonic() - self._since > patience:
                self.transport.close()
                return
            self._watch = self.loop.call_later(min(1.0, patience / 4), self._look)

    return PatientProtocol
