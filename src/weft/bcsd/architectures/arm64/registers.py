"""Names of AArch64's general registers."""

from __future__ import annotations

import re

_REGISTER = re.compile(r"^[wx](\d+|zr|sp)$")


def register(name: str) -> str | None:
    """The 64-bit name of a general register, None for anything else."""
    return f"x{name[1:]}" if _REGISTER.match(name) else None
