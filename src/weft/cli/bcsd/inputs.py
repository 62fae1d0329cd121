"""Inputs of commands that read several binaries."""

from __future__ import annotations

from collections.abc import Iterable


def check_kinds(binaries: Iterable[str]) -> None:
    """Look whether all are there and of a known kind, before anything that takes its time.

    Raises:
        InputError: One is not.
    """
    from weft.bcsd.read.open import check_kind

    for path in binaries:
        check_kind(path)
