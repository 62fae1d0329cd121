"""The one ASGI layer around the service: who may ask, from where, how often; headers, patience, log, counts."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from weft.serve.guard.headers import hardened
from weft.serve.guard.measures import Measures
from weft.serve.guard.tokens import LOCAL, READ, Caller, Tokens
from weft.serve.log import line_of, places, write
from weft.serve.problems import Refusal
from weft.serve.settings import Bounds, Settings, is_loopback

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: What is answered without a token: it tells nothing but that the service is there, and how to ask it.
OPEN = ("/healthz", "/favicon.ico")
#: In the state of a request: whether it came while there were too many connections.
CROWDED = "crowded"
_CLIENTS = 4096
_SAFE = ("GET", "HEAD", "OPTIONS")


class Gate:
    """The layer.

    Args:
        app: What it guards.
        settings: Of the service.
        tokens: None where everyone on this machine may.
        measures: Get the counts.
        log: Gets a line for each request.
        is_page: Whether a path is of the pages, which hold nothing that a token guards.
        limit_of: The most bytes of a body for a path.
    """

    def __init__(
        self,
        app: App,
        settings: Settings,
        tokens: Tokens | None,
        measures: Measures,
        *,
        is_page: Callable[[str], bool],
        limit_of: Callable[[str, str], int],
        log: Callable[[str], None] = write,
    ) -> None:
        self._app, self._settings, self._tokens = app, settings, tokens
        self._measures, self._log, self._is_page, self._limit_of = measures, log, is_page, limit_of
        self._rates = Rates(settings.bounds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection's request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, number = time.monotonic(), secrets.token_hex(8)
        told: dict[str, Any] = {"status": 0, "bytes": 0}
        scope["state"] = {**scope.get("state", {}), "request_id": number}
        # What a GET is answered, but for the body, which the server leaves out.
        is_head = scope["method"] == "HEAD"
        asked = {**scope, "method": "GET"} if is_head else scope
        patience = self._settings.bounds.patience

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                told["status"] = message["status"]
                message["headers"] = hardened(message.get("headers", []), scope["path"], number)
            elif message["type"] == "http.response.body" and not is_head:
                told["bytes"] += len(message.get("body", b""))
            # Who does not read what it asked for is let go.
            async with asyncio.timeout(3 * patience):
                await send(message)

        try:
            caller = self._admit(scope)
            scope["state"]["caller"] = caller
            body = _Body(receive, self._limit_of(scope["method"], scope["path"]), scope, patience)
            await self._app(asked, body, answer)
        except Refusal as refusal:
            if not told["status"]:
                await refusal.response()(scope, receive, answer)
        except (TimeoutError, ConnectionError):
            told["status"] = told["status"] or 499
        except Exception as error:  # noqa: BLE001 - the last place: its kind and where it was go to the log, no content
            told["fault"] = places(error)
        finally:
            self._note({**asked, "method": scope["method"]}, told, began, number)

    def _admit(self, scope: Scope) -> Caller:
        """Who asks.

        Raises:
            Refusal: Nobody who may.
        """
        if scope["state"].get(CROWDED):
            raise _crowded(self._settings.bounds.connections)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        peer = (scope.get("client") or ("unknown",))[0]
        self._check_place(scope, headers)
        caller = LOCAL if self._tokens is None else self._of_token(headers.get("authorization", ""))
        # What is open lies in memory, and is not counted: behind a proxy all who have no token are one client.
        if scope["path"] in OPEN or self._is_page(scope["path"]):
            return caller or Caller("nobody", frozenset())
        self._rates.take(peer if caller is None or caller is LOCAL else f"token {caller.name}")
        if caller is not None:
            return caller
        raise Refusal(
            401,
            "token",
            "A token is needed",
            "no token, or one that is not known",
            "send Authorization: Bearer TOKEN",
            WWW_Authenticate="Bearer",
        )

    def _of_token(self, header: str) -> Caller | None:
        kind, _, token = header.partition(" ")
        if self._tokens is None or kind.lower() != "bearer":
            return None
        return self._tokens.caller(token.strip())

    def _check_place(self, scope: Scope, headers: dict[str, str]) -> None:
        """Refuse what a page of another site made a browser ask, and names that are not ours."""
        host = headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        name = name.strip("[]").lower()
        if self._tokens is None and not is_loopback(name):
            raise Refusal(421, "host", "The service has another name", "ask it by 127.0.0.1 or localhost")
        known = {own.lower() for own in (*self._settings.names, self._settings.host)}
        if self._settings.names and not is_loopback(name) and name not in known:
            raise Refusal(421, "host", "The service has another name", "see --called")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise Refusal(403, "origin", "Pages of other sites may not ask", "the Origin is another site's")
        site = headers.get("sec-fetch-site", "none")
        if site not in ("none", "same-origin") and not _is_followed(scope, headers):
            raise Refusal(
                403, "origin", "Pages of other sites may not ask", "the request comes from another site"
            )

    def _note(self, scope: Scope, told: dict[str, Any], began: float, number: str) -> None:
        route = getattr(scope.get("route"), "path", "other")
        seconds = time.monotonic() - began
        caller = scope["state"].get("caller")
        self._measures.request(scope["method"], route, told["status"], seconds)
        line = {
            "request": number,
            "method": scope["method"] if scope["method"].isalpha() else "?",
            "route": route,
            "status": told["status"],
            "ms": round(1000 * seconds, 1),
            "bytes": told["bytes"],
            "caller": None if caller is None else caller.name,
        }
        if "fault" in told:
            line["fault"] = told["fault"]
        self._log(line_of(line))


def _is_followed(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether a request of another site's page makes nothing work, or is a link that somebody follows."""
    if scope["method"] not in _SAFE:
        return False
    works = scope["path"].startswith("/v1/") or scope["path"] == "/metrics"
    way, shown = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest", "document")
    return not works or (way == "navigate" and shown == "document")  # a frame is no link


class Rates:
    """A bucket for each client: ``burst`` at once, filled at ``rate`` a second."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Take one.

        Raises:
            Refusal: The bucket is empty.
        """
        rate, burst = self._bounds.rate, self._bounds.burst
        if not rate:
            return
        now = time.monotonic()
        held, since = self._buckets.pop(client, (float(burst), now))
        held = min(float(burst), held + (now - since) * rate)
        # Who is refused takes nothing: else a client that goes on asking too fast would never be answered again.
        self._buckets[client] = (held - 1 if held >= 1 else held, now)
        while len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        if held < 1:
            wait = max(1, round((1 - held) / rate))
            raise Refusal(
                429, "rate", "Too many requests", f"more than {rate:g} a second", Retry_After=str(wait)
            )


class _Body:
    """The body as it comes: not more than the bound, and not slower than one waits.

    What is declared to be too large is refused before a byte of it is read.
    """

    def __init__(self, receive: Receive, most: int, scope: Scope, patience: float) -> None:
        self._receive, self._most, self._patience = receive, most, patience
        self._taken, self._ended = 0, False
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > most:
            raise too_large(most)

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()  # the end of the connection
        try:
            async with asyncio.timeout(self._patience):
                message = await self._receive()
        except TimeoutError:
            raise Refusal(
                408,
                "slow",
                "The body came too slowly",
                f"nothing for {self._patience:g} s",
                Connection="close",
            ) from None
        if message["type"] == "http.request":
            self._taken += len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._taken > self._most:
                raise too_large(self._most)
        return message


def _crowded(most: int) -> Refusal:
    return Refusal(
        503,
        "busy",
        "Too many connections",
        f"there may be {most} at a time",
        Retry_After="5",
        Connection="close",
    )


def too_large(most: int) -> Refusal:
    """A body beyond its bound."""
    return Refusal(413, "size", "The body is too large", f"it may have {most:,} bytes", Connection="close")


def allowed(caller: Caller, scope: str = READ) -> Caller:
    """Check a scope.

    Raises:
        Refusal: The token has it not.
    """
    if scope not in caller.scopes:
        raise Refusal(403, "scope", "The token does not allow this", f"the scope {scope!r} is needed")
    return caller
