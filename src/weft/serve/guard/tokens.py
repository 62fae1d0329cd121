"""Bearer tokens: the file holds their hashes, so that who reads it cannot ask."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, InputError
from weft.platform.files import write_json
from weft.platform.reading import open_input, parse_json

READ, WRITE = "read", "write"
SCOPES = (READ, WRITE)
_PREFIX = "weft_"
_BYTES = 32
_LONGEST = 200
_FORM = 1


@dataclass(frozen=True)
class Caller:
    """Who asks.

    Args:
        name: As in the token file; ``local`` without one.
        scopes: What they may: ``read`` asks, ``write`` changes what all share.
    """

    name: str
    scopes: frozenset[str]


LOCAL = Caller("local", frozenset(SCOPES))
"""Whoever asks a service that has no tokens, which only this machine reaches."""


class Tokens:
    """The tokens of a file.

    Tokens are 256 bits of chance, so one round of SHA-256 is enough: nothing can be guessed from the hash.

    Args:
        hashes: For each name the hexadecimal SHA-256 of its token, and its scopes.
    """

    def __init__(self, hashes: dict[str, tuple[str, frozenset[str]]]) -> None:
        self._hashes = hashes

    @staticmethod
    def read(path: Path) -> Tokens:
        """Read a token file.

        Raises:
            InputError: It cannot be read, or is none.
            ConfigError: It holds no token, or others may write to it, who so could let anybody in.
        """
        if path.exists() and path.stat().st_mode & 0o022:
            raise ConfigError("others may write to it", where=str(path), hint=f"chmod 600 {path}")
        found = _entries(path)
        if not found:
            raise ConfigError("holds no token", where=str(path), hint="weft serve --new-token NAME")
        return Tokens({name: (entry["sha256"], frozenset(entry["scopes"])) for name, entry in found.items()})

    def caller(self, token: str) -> Caller | None:
        """Who has this token; None for nobody. It takes as long for one as for another."""
        given = _hashed(token)
        found: Caller | None = None
        for name, (kept, scopes) in self._hashes.items():
            if hmac.compare_digest(given, kept):
                found = Caller(name, scopes)
        return found


def new_token(path: Path, name: str, scopes: tuple[str, ...]) -> str:
    """Add a token to a file, which is made where it is not there, for its owner's eyes alone.

    Returns:
        The token: nothing else keeps it.

    Raises:
        ConfigError: No name, or one that is there; a scope that is none.
        InputError: The file is no token file.
        OutputError: It cannot be written.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise ConfigError(
            f"no scope {', '.join(unknown) or '(none)'}", hint=f"one or both of {', '.join(SCOPES)}"
        )
    if not name.isprintable() or not 0 < len(name) <= 80:
        raise ConfigError("a token's name has 1 to 80 printable characters")
    entries = _entries(path) if path.exists() else {}
    if name in entries:
        raise ConfigError(f"there is a token {name!r}", where=str(path), hint="name another, or take it out")
    token = _PREFIX + secrets.token_urlsafe(_BYTES)
    entries[name] = {"sha256": _hashed(token), "scopes": sorted(scopes)}
    if not path.exists():
        # Made empty for its owner first: writing keeps the mode of what stands there.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    write_json(path, {"weft_tokens": _FORM, "tokens": entries})
    return token


def _entries(path: Path) -> dict[str, dict[str, Any]]:
    with open_input(path) as file:
        content = parse_json(file.read(1 << 20).decode("utf-8", "replace"), str(path))
    tokens = (
        content.get("tokens") if isinstance(content, dict) and content.get("weft_tokens") == _FORM else None
    )
    if not isinstance(tokens, dict):
        raise InputError("is no token file", where=str(path), hint="weft serve --new-token NAME makes one")
    for name, entry in tokens.items():
        if not _is_entry(entry):
            raise InputError(
                f"the token {name!r} has not a sha256 of 64 hexadecimal digits in small letters, and a list of scopes",
                where=str(path),
                hint=f"scopes are {', '.join(SCOPES)}; weft serve --new-token NAME writes both",
            )
    return tokens


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, dict) or set(entry) != {"sha256", "scopes"}:
        return False
    digest, scopes = entry["sha256"], entry["scopes"]
    known = isinstance(scopes, list) and all(scope in SCOPES for scope in scopes)
    # Small letters: whatever else is written there, no token has it.
    return known and isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest) is not None


def _hashed(token: str) -> str:
    return hashlib.sha256(token[:_LONGEST].encode("utf-8", "surrogateescape")).hexdigest()
