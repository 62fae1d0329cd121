"""The log on the error stream: a line of JSON for each request and each fault, never what it was about."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from typing import Any

from weft.errors import StoreError


def write(line: str) -> None:
    """Write a line."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the log


def line_of(what: dict[str, Any]) -> str:
    """A line of the log: the time, and what is told."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return json.dumps({"time": now, **what}, separators=(",", ":"))


def write_fault(error: Exception) -> None:
    """Write that a thread which goes on met an error: its kind, where it was, and what the system said of it."""
    told: dict[str, Any] = {"thread": threading.current_thread().name, "fault": places(error)}
    if isinstance(error, StoreError):
        told["why"] = str(error)
    elif isinstance(error, OSError):
        told["why"] = error.strerror
    write(line_of(told))


def places(error: Exception) -> list[str]:
    """The kind of an error and where it came by, without what it was about."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return [type(error).__name__] + [f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames]
