"""The parts of the gate by themselves: scopes, and bodies that are longer than they may be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from weft.serve.guard.gate import _Body, allowed
from weft.serve.guard.tokens import Caller
from weft.serve.problems import Refusal


def test_a_scope_is_had_or_refused() -> None:
    reader = Caller("ann", frozenset({"read"}))
    assert allowed(reader) is reader
    with pytest.raises(Refusal, match="the scope 'write' is needed"):
        allowed(reader, "write")
    with pytest.raises(Refusal, match="the scope 'read' is needed"):
        allowed(Caller("bob", frozenset({"write"})))


def body(pieces: Iterable[bytes], most: int, declared: str | None = None) -> bytes:
    """What is read of a body that comes in pieces."""
    left = list(pieces)
    headers = [] if declared is None else [(b"content-length", declared.encode())]

    async def receive() -> dict[str, object]:
        piece = left.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    async def read() -> bytes:
        taken = _Body(receive, most, {"headers": headers}, 5)
        found = b""
        while left:
            found += (await taken())["body"]
        return found

    return asyncio.run(read())


def test_a_body_ends_at_its_bound() -> None:
    assert body([b"abc", b"def"], 6) == b"abcdef"
    with pytest.raises(Refusal, match="it may have 5 bytes"):
        body([b"abc", b"def"], 5)


def test_what_is_declared_too_large_is_not_read() -> None:
    assert body([b"abc"], 3, "3") == b"abc"
    with pytest.raises(Refusal, match="it may have 3 bytes"):
        body([b"abc"], 3, "4")
