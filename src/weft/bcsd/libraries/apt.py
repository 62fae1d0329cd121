"""Packages by ``apt-get download``, with a state and a cache of their own: nothing of the system's is touched."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from weft.bcsd.libraries.debian import Package, read_package
from weft.errors import InputError, LimitError, WeftError
from weft.platform.files import make_folder, replaced, write_text, writing_to
from weft.platform.reading import read_text

#: Packages in one call: apt reads all its lists each time.
_AT_ONCE = 50
_SECONDS = 900
_REQUEST = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9+.-]*)(:(?P<architecture>[a-z0-9-]+))?(=(?P<version>[A-Za-z0-9.+:~-]+))?"
)
_STAMP = "lists-of"
Run = Callable[[Sequence[str], dict[str, str], Path], tuple[int, str]]


class Request(NamedTuple):
    """A package that is asked for by name."""

    text: str
    name: str
    architecture: str
    version: str

    def meets(self, package: Package) -> bool:
        """Whether a package is what was asked for."""
        return (
            package.name == self.name
            and self.architecture in ("", package.architecture)
            and self.version in ("", package.version)
        )


def parse_request(text: str) -> Request:
    """``NAME``, ``NAME:ARCHITECTURE``, either with ``=VERSION``.

    Raises:
        InputError: Not so.
    """
    found = _REQUEST.fullmatch(text)
    if found is None:
        hint = "NAME, NAME:ARCHITECTURE, NAME=VERSION, or a .deb file"
        raise InputError("neither a package's name nor a file", where=text[:120], hint=hint)
    return Request(text, *(found[group] or "" for group in ("name", "architecture", "version")))


def run_apt(command: Sequence[str], environment: dict[str, str], folder: Path) -> tuple[int, str]:
    """Run a command of apt; its exit code and what it said of errors.

    Raises:
        InputError: There is no apt here.
        LimitError: It took too long.
    """
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise InputError(
            "apt-get is not on this system", where=command[0], hint="give .deb files instead of names"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise LimitError(f"took more than {_SECONDS} s", where=" ".join(command[:2])) from error
    return done.returncode, done.stderr


class Apt:
    """Downloads packages.

    Args:
        work: A folder for its state, its cache and what it downloads.
        sources: A ``sources.list`` to use instead of the system's.
        run: Runs a command.

    Raises:
        InputError: The sources cannot be read.
        OutputError: The folder cannot be written.
    """

    def __init__(self, work: Path, sources: Path | None = None, run: Run = run_apt) -> None:
        self.folder = make_folder(work.resolve() / "debs")
        self._state = make_folder(work.resolve() / "apt")
        if '"' in str(self._state):
            raise InputError("apt takes no path with a quotation mark", where=str(work))
        self._sources = None if sources is None else sources.resolve()
        self._listed = "" if sources is None else read_text(sources)
        self._run = run

    def there(self, request: Request) -> Path | None:
        """The package, where it was downloaded before."""
        for path in sorted(self.folder.glob(f"{request.name}_*.deb")):
            try:
                if request.meets(read_package(path)):
                    return path
            except InputError:
                continue  # of a run that was killed: fetched again
        return None

    def fetch(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Path | WeftError]]:
        """Each package's file, or why there is none."""
        missing: list[Request] = []
        for request in requests:
            found = self.there(request)
            if found is None:
                missing.append(request)
            else:
                yield request, found
        if missing:
            self._update(sorted({request.architecture for request in missing if request.architecture}))
        for first in range(0, len(missing), _AT_ONCE):
            yield from self._fetch(missing[first : first + _AT_ONCE])

    def _fetch(self, requests: Sequence[Request]) -> Iterator[tuple[Request, Path | WeftError]]:
        """Some packages in one call; where that fails, each half of them."""
        with writing_to(self.folder), tempfile.TemporaryDirectory(dir=self.folder) as place:
            names = [request.text for request in requests]
            code, said = self._run(["apt-get", "download", "--", *names], self._environment(), Path(place))
            for path in sorted(Path(place).glob("*.deb")):
                with replaced(self.folder / path.name) as part:
                    shutil.copyfile(path, part)
        found = [(request, self.there(request)) for request in requests]
        failed = [request for request, path in found if path is None]
        yield from ((request, path) for request, path in found if path is not None)
        if len(failed) == 1:
            reasons = [line[2:].strip() for line in said.splitlines() if line.startswith("E:")]
            reason = "; ".join(reasons)[:300] or f"apt-get gave no such package (exit code {code})"
            yield failed[0], InputError(f"cannot be downloaded: {reason}", where=failed[0].text)
        elif failed:
            middle = len(failed) // 2
            yield from self._fetch(failed[:middle])
            yield from self._fetch(failed[middle:])

    def _update(self, foreign: Sequence[str]) -> None:
        """Fetch the lists of packages, unless they were fetched for these sources and architectures."""
        stamp = self._state / _STAMP
        known = hashlib.sha256("\n".join([self._listed, *foreign]).encode()).hexdigest()
        self._configure(foreign)
        if stamp.exists() and read_text(stamp).strip() == known:
            return
        code, said = self._run(["apt-get", "update"], self._environment(), self._state)
        if code:
            reasons = [line[2:].strip() for line in said.splitlines() if line[:2] in ("E:", "W:")]
            raise InputError(
                f"the lists of packages cannot be fetched: {'; '.join(reasons)[:300] or code}",
                where="apt-get update",
                hint="is there a network, and are the sources right? .deb files need neither",
            )
        write_text(stamp, known + "\n")

    def _configure(self, foreign: Sequence[str]) -> None:
        for inside in ("lists/partial", "cache/archives/partial"):
            make_folder(self._state / inside)
        settings = {
            "Dir::State": self._state,
            "Dir::State::lists": self._state / "lists",
            "Dir::State::status": self._state / "status",
            "Dir::Cache": self._state / "cache",
            "Acquire::Languages": "none",
        }
        if self._sources is not None:
            settings |= {"Dir::Etc::sourcelist": self._sources, "Dir::Etc::sourceparts": "-"}
        lines = [f'{name} "{value}";' for name, value in settings.items()]
        # The system's own architecture is always among them.
        lines += [
            f"APT::Architectures {{ {' '.join(f'{chr(34)}{name}{chr(34)};' for name in foreign)} }};"
        ] * bool(foreign)
        write_text(self._state / "status", "")
        write_text(self._state / "apt.conf", "\n".join(lines) + "\n")

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "APT_CONFIG": str(self._state / "apt.conf"), "LC_ALL": "C"}
