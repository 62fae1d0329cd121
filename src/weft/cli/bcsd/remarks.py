"""What a person should know about a file, on the error stream of every command that reads one."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from weft.errors import in_one_line


def say(path: str, remarks: Iterable[str]) -> None:
    """One line per remark."""
    for remark in remarks:
        print(in_one_line(f"{path}: {remark}"), file=sys.stderr)
