"""A chat endpoint in OpenAI's form, by the standard library alone."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from weft.errors import ConfigError
from weft.platform.reading import parse_json

_MOST = 1 << 20
"""Bytes of a reply that are read: more is no answer to a question for a few words."""


@dataclass(frozen=True)
class Reply:
    """What an endpoint said.

    Args:
        text: Its words; None where there were none.
        failure: Why there were none: ``"time-out"``, ``"no connection"``, ``"status 500"``, ``"no chat reply"``.
    """

    text: str | None
    failure: str = ""


@dataclass(frozen=True)
class Endpoint:
    """A server that answers ``POST {url}/chat/completions``.

    Args:
        url: Such as ``http://127.0.0.1:8080/v1``.
        model: The name that is sent along.
        timeout: Seconds to wait for a connection, and for each part of a reply.
        key: Sent as a bearer token where given.

    Raises:
        ConfigError: A URL that is none, an empty name, or a time-out that is not positive.
    """

    url: str
    model: str = "default"
    timeout: float = 30.0
    key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise ConfigError(
                f"{self.url!r} is no URL of an endpoint", hint="http://127.0.0.1:8080/v1, for instance"
            )
        if not self.model.strip():
            raise ConfigError("the name of the endpoint's model is empty")
        if not self.timeout > 0:
            raise ConfigError(f"the time-out is {self.timeout}; it must be above 0")

    def ask(self, system: str, user: str, most_tokens: int = 64) -> Reply:
        """One question, without memory of others; no failure of the endpoint is raised.

        Args:
            system: What the model is to do.
            user: The question.
            most_tokens: Of the answer.
        """
        body = json.dumps(
            {
                "model": self.model,
                "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
                "temperature": 0,
                "max_tokens": most_tokens,
            }
        ).encode()
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        connection = self._connection()
        try:
            connection.request(
                "POST", f"{urlsplit(self.url).path.rstrip('/')}/chat/completions", body, headers
            )
            return _read(connection.getresponse())
        except TimeoutError:
            return Reply(None, "time-out")
        except (OSError, HTTPException, socket.gaierror):
            return Reply(None, "no connection")
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname or "", parts.port, timeout=self.timeout)


def _read(response: HTTPResponse) -> Reply:
    content = response.read(_MOST)
    if response.status != 200:
        return Reply(None, f"status {response.status}")
    try:
        record: Any = parse_json(content.decode("utf-8"), "the reply")
        text = record["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError):
        return Reply(None, "no chat reply")
    return Reply(text) if isinstance(text, str) else Reply(None, "no chat reply")
