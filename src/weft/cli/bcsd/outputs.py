"""Outputs of commands that read binaries."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from weft.cli.outputs import check_outputs


def spare_binaries(outputs: Iterable[Path | None], binaries: Iterable[str]) -> None:
    """:func:`weft.cli.outputs.check_outputs` with binaries as inputs; of a member it is the archive that is spared.

    Raises:
        ConfigError: An output is another one, or a binary.
        OutputError: One cannot be written.
    """
    from weft.bcsd.read.members import split_member

    check_outputs(outputs, [split_member(path)[0] for path in binaries])
