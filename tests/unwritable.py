"""Commands whose output cannot be written: one line, exit code 8, what stood there whole, nothing left over.

A room's ``test_unwritable.py`` names its commands in ``WRITES``; ``tests/cli/test_unwritable.py`` sees that every
command of the tree is in one of these tables or among those that only print.
"""

from __future__ import annotations

import re
import resource
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from typing import Any

import pytest

from weft.cli.main import main


@dataclass(frozen=True)
class Writes:
    """A command line that writes.

    Args:
        arguments: What stands between braces is a place: ``{out}`` is where it writes, any other the value of the
            fixture of that name.
        old: The fixture whose file or folder stands at ``{out}`` before; a file of three letters where empty;
            nothing where None.
        stays: What may be there afterwards or differ, as a regular expression of names.
        only_full: Whether ``{out}`` is also read, so that it cannot be a place where nothing can be.
    """

    arguments: str
    old: str | None = ""
    stays: str = "$"
    only_full: bool = False


def cases(table: Mapping[str, Sequence[Writes]]) -> list[Any]:
    """What ``parametrize`` takes: every command line of a table with a full disk and with an impossible place."""
    return [
        pytest.param(name, writes, full, id=f"{name}-{number}-{'full' if full else 'impossible'}")
        for name, lines in table.items()
        for number, writes in enumerate(lines)
        for full in (True, False)
        if full or not writes.only_full
    ]


@contextmanager
def full_disk() -> Iterator[None]:
    """No file takes a byte: the system refuses to write as it does on a full disk."""
    ensure_running()  # the server that forks workers would keep the limit for the tests that follow
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(folder: Path) -> dict[str, bytes | None]:
    """All that lies in a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def refused(
    tool: str, name: str, writes: Writes, full: bool, request: pytest.FixtureRequest, folder: Path
) -> None:
    """Run a command that cannot write, and see that it says so and leaves the folder as it was."""
    places = {
        found: str(request.getfixturevalue(found))
        for found in re.findall(r"\{(\w+)\}", writes.arguments)
        if found != "out"
    }
    capsys = request.getfixturevalue("capsys")
    if not full:
        (folder / "file").write_text("old")
        out = folder / "file" / "out"
    else:
        out = folder / "out"
        if writes.old:
            old = Path(request.getfixturevalue(writes.old))
            (shutil.copytree if old.is_dir() else shutil.copy)(old, out)
        elif writes.old is not None:
            out.write_text("old")
    arguments = shlex.split(f"{tool} {name} {writes.arguments}".format(out=out, **places))
    before = contents(folder)
    capsys.readouterr()
    if full:
        with full_disk():
            code = main(arguments)
    else:
        code = main(arguments)
    said = capsys.readouterr().err.strip()
    assert (code, "cannot be " in said, len(said.splitlines())) == (8, True, 1), said[-2000:]
    after = contents(folder)
    changed = {name for name in before.keys() | after.keys() if before.get(name, 0) != after.get(name, 0)}
    assert not (wrong := sorted(name for name in changed if not re.match(writes.stays, name))), wrong
