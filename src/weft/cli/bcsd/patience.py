"""Long work on binaries: what is being done, once it takes its time."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress

from weft.cli.patience import PATIENCE, saying
from weft.errors import InputError

#: So many files are named.
_NAMED = 3
_MEGABYTE = 1_000_000


@contextmanager
def telling(doing: str, binaries: Sequence[str], *, quiet: bool = False) -> Generator[None]:
    """Say on the error stream what the body does, and to how much, where it is not done after :data:`PATIENCE`.

    Args:
        doing: What it does, as ``weft bcsd show: reading``.
        binaries: The files, or folders of them; of many the first are named.
        quiet: Whether nothing is said.
    """

    def line() -> str:
        shown = [f"{path}{_size(path)}" for path in binaries[:_NAMED]]
        if len(binaries) > _NAMED:
            shown.append(f"{len(binaries) - _NAMED:,} more")
        named = " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
        return f"{doing} {named}; large files take minutes"

    with saying(line, PATIENCE, quiet=quiet):
        yield


def _size(path: str) -> str:
    """How large a file or a member is; nothing where it went away, which what reads it says."""
    from weft.bcsd.read.members import content_of

    with suppress(InputError):
        return f" ({len(content_of(path)) / _MEGABYTE:,.1f} MB)"
    return ""
