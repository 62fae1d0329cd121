"""What a person should know about a file, on the error stream of every command that reads one."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def say(path: str, remarks: Iterable[str]) -> None:
    """One line per remark."""
    for remark in remarks:
        print(f"{path}: {remark}", file=sys.stderr)
