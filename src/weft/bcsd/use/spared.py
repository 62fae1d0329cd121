"""Tables that are written beside what they are made of, never over it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from weft.bcsd.read.members import split_member
from weft.errors import ConfigError
from weft.platform.files import check_output
from weft.platform.same_file import is_same

_SUFFIXES = (".parquet", ".pq", "")


def check_table(table: Path | None, binaries: Iterable[str]) -> None:
    """Refuse a table that cannot be written, or that would overwrite a binary; of a member, its archive.

    Args:
        table: The table; None where none is written.
        binaries: What it is made of.

    Raises:
        ConfigError: It is one of the binaries, by a link as well, or its name says another format.
        OutputError: It cannot be written.
    """
    if table is None:
        return
    check_output(table)
    if any(is_same(table, path) for path in {split_member(path)[0] for path in binaries}):
        raise ConfigError("the output is the input", where=str(table), hint="give another file")
    check_suffix(table)


def check_suffix(table: Path) -> None:
    """Refuse a name that says another format than Parquet; one without a suffix, as of a pipe, says none.

    Raises:
        ConfigError: It does.
    """
    if table.suffix.lower() not in _SUFFIXES:
        what = f"the table is Parquet, and its name ends in {table.suffix!r}"
        raise ConfigError(what, where=str(table), hint="let it end in .parquet")
