"""A server on this machine in the form of OpenAI's, that answers well, badly, late and not at all."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from weft.kg.combine.endpoint import Endpoint


class FakeServer(ThreadingHTTPServer):
    """Answers what it is told to, a text or a function of the question, and remembers what it was asked."""

    reply: str | Callable[[dict[str, Any]], tuple[int, str]] = ""
    status: int = 200
    delay: float = 0.0
    asked: list[dict[str, Any]]
    paths: list[str]
    keys: list[str | None]


class Handler(BaseHTTPRequestHandler):
    server: FakeServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body))
        self.server.paths.append(self.path)
        self.server.keys.append(self.headers["Authorization"])
        time.sleep(self.server.delay)
        status, reply = self.server.status, self.server.reply
        if callable(reply):
            status, reply = reply(self.server.asked[-1])
        with suppress(ConnectionError):  # a client that did not wait
            self.send_response(status)
            self.end_headers()
            self.wfile.write(reply.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[FakeServer]:
    running = FakeServer(("127.0.0.1", 0), Handler)
    running.asked, running.paths, running.keys = [], [], []
    thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def chat(text: str) -> str:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})


def endpoint(server: FakeServer, **choices: Any) -> Endpoint:
    return Endpoint(f"http://127.0.0.1:{server.server_address[1]}/v1", **choices)
