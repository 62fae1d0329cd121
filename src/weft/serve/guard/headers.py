"""Headers of every answer: nothing is framed, sniffed, sent on or kept that need not be."""

from __future__ import annotations

from collections.abc import Iterable

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ALWAYS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
}


def hardened(headers: Iterable[tuple[bytes, bytes]], path: str, number: str) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with those of all; what an API answers is kept by nobody on the way."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    added = [(name, value) for name, value in _ALWAYS.items() if name not in names]
    if b"cache-control" not in names:
        added.append((b"cache-control", b"no-store" if path.startswith("/v1/") else b"no-cache"))
    return [*given, *added, (b"x-request-id", number.encode())]
