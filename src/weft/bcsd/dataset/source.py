"""Fetching Debian source packages and getting a tree ready to compile."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weft.bcsd.dataset.config import Package
from weft.errors import InputError
from weft.platform.files import make_folder, write_text

_SECONDS = 600


@dataclass(frozen=True)
class Tree:
    """An unpacked, prepared source tree.

    Args:
        path: Its folder.
        version: Of the source package.
        digest: SHA-256 over the downloaded files, by name.
    """

    path: Path
    version: str
    digest: str


def fetch(package: Package, folder: Path) -> Tree:
    """Download and unpack a package, once.

    Args:
        package: What to fetch.
        folder: Where trees live; ``folder/<name>`` is this one's.

    Returns:
        The tree, its ``prepare`` and ``write`` steps done.

    Raises:
        InputError: The download or a preparation failed; the tree is left out, so that a retry starts afresh.
    """
    make_folder(folder)
    with one_at_a_time(folder / f"{package.name}.lock"):
        return _fetch(package, folder / package.name)


@contextmanager
def one_at_a_time(lock: Path) -> Iterator[None]:
    """Wait until no other process is inside with the same lock file, which stays behind, empty."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(package: Package, home: Path) -> Tree:
    stamp = home / "ready"
    tree = home / "tree"
    known, _, held = stamp.read_text(encoding="utf-8").partition("\n") if stamp.is_file() else ("", "", "")
    if held and held != package.debian:
        what = f"it holds the source package {held!r}, not {package.debian!r}"
        raise InputError(what, where=str(home), hint="remove the folder, or call the package otherwise")
    if not (known and any(home.glob("*.orig.tar.*"))):
        _download(package, home)
    digest = _digest(home)
    # Archives of another version make another tree.
    parts = (package.debian, package.prepare, sorted(package.write.items()), digest)
    wanted = hashlib.sha256(repr(parts).encode()).hexdigest()
    if known != wanted:
        _unpack(package, home, tree)
        for place, text in package.write.items():
            make_folder((tree / place).parent)
            write_text(tree / place, text)
        for command in package.prepare:
            run(["sh", "-ec", command], tree, f"{package.name}: {command}")
        write_text(stamp, f"{wanted}\n{package.debian}")
    return Tree(tree, _version(home), digest)


def run(command: list[str], folder: Path, what: str) -> str:
    """Run a command in a folder and return its output.

    Raises:
        InputError: It failed or took more than ten minutes; the last line it said is in the message.
    """
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, errors="replace"
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"took more than {_SECONDS} s", where=what) from error
    except FileNotFoundError as error:
        raise InputError(
            f"{command[0]} is not installed", where=what, hint="scripts/bcsd-toolchain.sh"
        ) from error
    if done.returncode != 0:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        # Of a failed link the driver says only that there was one.
        said = [line for line in said if not line.startswith("collect2:")] or said or ["no message"]
        told = next((line for line in said if "error: " in line.lower()), said[-1])
        raise InputError(f"exit code {done.returncode}: {told.strip()[:200]}", where=what)
    return done.stdout


def _download(package: Package, home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    description = next(home.glob("*.dsc"), None)
    # A download that was stopped leaves a description of files that are not there.
    if description is not None and all((home / name).is_file() for name in _listed(description)):
        return
    try:
        run(
            ["apt-get", "source", "--download-only", "-q", package.debian],
            home,
            f"apt-get source {package.debian}",
        )
    except InputError:
        # The Debian packaging of a security update may be gone while the upstream archive arrived.
        if next(home.glob("*.orig.tar.*"), None) is None:
            raise


def _listed(description: Path) -> list[str]:
    """The files that a source package consists of, as its description names them: checksum, size and name each."""
    text = description.read_text(encoding="utf-8", errors="replace")
    _, _, below = text.partition("\nFiles:")
    names: list[str] = []
    for line in below.splitlines()[1:]:
        words = line.split()
        if not line.startswith(" ") or len(words) != 3:
            break
        names.append(words[2])
    return names


def _unpack(package: Package, home: Path, tree: Path) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    description = next(home.glob("*.dsc"), None)
    if description is not None:
        run(
            ["dpkg-source", "--no-check", "-x", description.name, "tree"],
            home,
            f"dpkg-source {description.name}",
        )
        return
    archive = next(found for found in sorted(home.glob("*.orig.tar.*")) if found.suffix != ".asc")
    tree.mkdir()
    run(["tar", "-xf", str(archive), "--strip-components=1", "-C", str(tree)], home, f"tar {archive.name}")


def _version(home: Path) -> str:
    names = sorted(path.name for path in home.iterdir() if path.suffix == ".dsc" or ".orig.tar" in path.name)
    return names[0].partition("_")[2].removesuffix(".dsc") if names else "unknown"


def _digest(home: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(home.iterdir()):
        if path.is_file() and path.name != "ready":
            digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
