"""Errors as ``application/problem+json`` (RFC 9457): the error tree with HTTP's words, and no path of the server."""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from starlette.responses import JSONResponse

from weft.errors import (
    CheckpointError,
    ConfigError,
    InputError,
    Interrupted,
    LimitError,
    MissingExtraError,
    OutputError,
    PartialFailure,
    StoreError,
    WeftError,
)

MEDIA = "application/problem+json"
KINDS: dict[type[WeftError], tuple[str, int, str]] = {
    ConfigError: ("config", 422, "A setting breaks a rule"),
    InputError: ("input", 422, "The input cannot be used"),
    CheckpointError: ("model", 500, "A model cannot be loaded"),
    MissingExtraError: ("missing", 422, "A part of weft is not installed on the server"),
    StoreError: ("store", 503, "The index or the store cannot be read"),
    LimitError: ("limit", 413, "A bound on time, memory or size was reached"),
    OutputError: ("output", 507, "The server cannot keep this"),
    PartialFailure: ("partial", 422, "Some items failed"),
    Interrupted: ("stopped", 409, "It was stopped"),
    WeftError: ("failure", 500, "It failed"),
}
"""For each class of errors its word, its status and its title."""


class Refusal(Exception):  # noqa: N818 - it is an answer
    """A request that HTTP has a word for.

    Args:
        status: The code.
        kind: One word.
        title: What is always true of such a refusal.
        detail: What is true of this one.
        hint: The way out.
        headers: Of the answer.
    """

    def __init__(
        self, status: int, kind: str, title: str, detail: str, hint: str | None = None, **headers: str
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.title, self.detail, self.hint = status, kind, title, detail, hint
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def response(self) -> JSONResponse:
        """The answer."""
        return problem(self.status, self.kind, self.title, self.detail, hint=self.hint, headers=self.headers)


def not_here(what: str) -> Refusal:
    """Nothing of that name."""
    return Refusal(404, "not-found", "There is no such thing", what)


def not_served(what: str, option: str) -> Refusal:
    """The service was started without it."""
    return Refusal(404, "not-served", f"This service has no {what}", f"it was started without {option}")


def problem(
    status: int,
    kind: str,
    title: str,
    detail: str,
    *,
    hint: str | None = None,
    headers: dict[str, str] | None = None,
    **more: Any,
) -> JSONResponse:
    """A refusal as an answer."""
    content = {"type": f"urn:weft:problem:{kind}", "title": title, "status": status, "detail": detail, **more}
    if hint is not None:
        content["hint"] = hint
    return JSONResponse(content, status, headers, media_type=MEDIA)


def record(error: WeftError, paths: Paths) -> dict[str, Any]:
    """What a problem says of an error; kept with a job that failed."""
    kind, status, title = next(KINDS[base] for base in type(error).__mro__ if base in KINDS)
    found: dict[str, Any] = {
        "type": f"urn:weft:problem:{kind}",
        "title": title,
        "status": status,
        "detail": paths.hidden(error.what),
        "exit_code": error.exit_code,
    }
    for name in ("where", "hint"):
        text = getattr(error, name)
        if text is not None:
            found[name] = paths.hidden(text)
    return found


class Paths:
    """Takes the server's own paths out of what it says.

    Args:
        folders: Those whose insides are named in messages: of each path in them its last part stays.
    """

    def __init__(self, folders: Iterable[Path | None]) -> None:
        known = [Path(sysconfig.get_paths()["purelib"]), Path(__file__).parents[2], Path.home()]
        known += [folder for folder in folders if folder is not None]
        roots = {str(form) for folder in known for form in (folder, folder.absolute(), folder.resolve())}
        roots |= {"/tmp", "/var/tmp", os.environ.get("TMPDIR", "/tmp")}
        ordered = sorted((root for root in roots if len(root) > 1), key=len, reverse=True)
        self._pattern = re.compile(rf"(?:{'|'.join(map(re.escape, ordered))})(?:/[^\s'\":,;()]*)?")

    def hidden(self, text: str) -> str:
        """The text, each path of the server cut to its last part."""
        return self._pattern.sub(lambda found: os.path.basename(found[0].rstrip("/")) or "…", text)
