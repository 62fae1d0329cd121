"""The one way to write: a file or a folder appears under its name whole and on the disk, or not at all.

What is written stands first in a hidden folder beside its place, ``.NAME.0.part``, which its writer holds a
lock on. Then it is forced to the disk and renamed. The lock ends with the process, so the next write tells the
leftovers of a killed run from the work of a living one: it removes the first and leaves the second alone.

Every failure is one :class:`~weft.errors.OutputError`, and what stood at the place before still stands there.
A place that is no file, such as a pipe, is written to directly; an open file, such as ``/dev/stdout``, is added to.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from weft.platform.streams import added_to, open_file
from weft.platform.unwritable import cannot_encode, cannot_write

_SUFFIX, _OLD = ".part", ".old"
_LONGEST = 200
"""Bytes of a name that the hidden folder's name keeps; a file system holds 255."""


@contextmanager
def writing_to(path: str | Path) -> Iterator[None]:
    """Turn an ``OSError`` of the body into the error of that place: for writers of other libraries.

    Raises:
        OutputError: The body could not write.
    """
    try:
        yield
    except BrokenPipeError:
        raise  # the reader went away: the command line ends quietly
    except OSError as error:
        if error.filename is not None and not _within(str(error.filename), path):
            raise  # something else that the body opened
        raise cannot_write(error, path) from error
    except UnicodeEncodeError as error:
        if not error.object.startswith(_hidden(path)):
            raise  # a text, not the name that a library was given
        raise cannot_encode(path) from error


def check_output(path: str | Path) -> None:
    """Say before the work begins that its result could not be written.

    Raises:
        OutputError: No such folder, no permission, or a folder where a file is to be.
    """
    path = Path(path)
    with writing_to(path):
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "")
        if open_file(path) is not None:
            return
        regular = mode is None or stat.S_ISREG(mode)
        place = os.path.dirname(os.path.realpath(path)) if regular else path
        if not stat.S_ISDIR(os.stat(place).st_mode) and regular:
            raise OSError(errno.ENOTDIR, "")
        if not os.access(place, os.W_OK):
            raise OSError(errno.EACCES, "")


def make_folder(path: str | Path) -> Path:
    """Make a folder and those above it, where they are not there.

    Raises:
        OutputError: It cannot be made.
    """
    with writing_to(path):
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise OSError(errno.ENOTDIR, "") from None
    return Path(path)


@contextmanager
def replaced(path: str | Path) -> Iterator[Path]:
    """Write a file by its path, for libraries that want one.

    Args:
        path: The place; what stands there is replaced when the body ends without an error. Its folder must
            be there. The mode of a file that stands there is kept, and a link still leads where it led.

    Yields:
        The path to write to, of the same name, in a folder beside. Where the body leaves no file there, the
        place stays as it is.

    Raises:
        OutputError: It cannot be written.
    """
    with writing_to(path):
        mode = _mode(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "")
        if (handle := open_file(path)) is not None:
            with added_to(handle, Path(path).name) as written:
                yield written
            return
        if mode is not None and not stat.S_ISREG(mode):
            yield Path(path)
            return
        target = Path(os.path.realpath(path))
        with _part(target) as part:
            written = part / target.name
            yield written
            if written.exists():
                _commit(part, target.parent, [target.name])


@contextmanager
def replaced_files(folder: str | Path, names: Sequence[str]) -> Iterator[Path]:
    """Write several files of one folder: none appears before all are on the disk.

    Args:
        folder: Where they are to be; it must be there.
        names: Their names, in the order in which they appear: one that tells of the others comes last.

    Yields:
        The folder to write them into. A name that the body leaves out stays as it is.

    Raises:
        OutputError: They cannot be written.
    """
    with writing_to(folder):
        place = Path(os.path.realpath(folder))
        with _part(place / names[-1]) as part:
            yield part
            _commit(part, place, [name for name in names if (part / name).exists()])


@contextmanager
def replaced_folder(path: str | Path, *, new: bool = False) -> Iterator[Path]:
    """Write a whole folder.

    Args:
        path: The place; a folder that stands there is swapped for the new one when the body ends without an
            error, in one step where the system can do it.
        new: Refuse a place where something stands already.

    Yields:
        An empty folder to write into.

    Raises:
        OutputError: It cannot be written, or ``new`` and something stands there.
    """
    with writing_to(path):
        target = Path(os.path.realpath(path))
        if target.exists() and (new or not target.is_dir()):
            raise FileExistsError(errno.EEXIST, "")
        with _part(target) as part:
            written = part / target.name
            written.mkdir()
            yield written
            for folder, _, names in os.walk(written, topdown=False):
                for name in names:
                    _sync(Path(folder, name))
                _sync(Path(folder))
            if not target.exists():
                os.rename(written, target)
            elif new:
                raise FileExistsError(errno.EEXIST, "")
            elif not _exchange(written, target):
                os.rename(target, part / _OLD)  # a killed run's successor puts it back
                os.rename(written, target)
            _sync(target.parent)


@contextmanager
def scratch(beside: str | Path | None) -> Iterator[Path]:
    """A folder for what a run needs on its way, on the disk that takes its result; gone at the end.

    Args:
        beside: The place of the result; None, or a place that is no file, is the system's own folder.

    Raises:
        OutputError: It cannot be made there, or the body could not write.
    """
    mode = None if beside is None else _mode(beside)
    if beside is None or open_file(beside) is not None or not (mode is None or stat.S_ISREG(mode)):
        with tempfile.TemporaryDirectory(prefix="weft-") as folder:
            yield Path(folder)
    else:
        with writing_to(beside), _part(Path(os.path.realpath(beside))) as part:
            yield part


@contextmanager
def writer(path: str | Path, *, newline: str = "\n") -> Iterator[IO[str]]:
    """Write a text of UTF-8 piece by piece.

    Args:
        path: As for :func:`replaced`.
        newline: As for ``open``.

    Raises:
        OutputError: It cannot be written.
    """
    with replaced(path) as part, part.open("w", encoding="utf-8", newline=newline) as file:
        yield file


@contextmanager
def binary_writer(path: str | Path) -> Iterator[IO[bytes]]:
    """Write bytes piece by piece; raises as :func:`replaced` does."""
    with replaced(path) as part, part.open("wb") as file:
        yield file


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a file; raises as :func:`replaced` does."""
    with binary_writer(path) as file:
        file.write(content)


def write_text(path: str | Path, text: str, errors: str = "strict") -> None:
    """Write a text as UTF-8, its line ends as they are.

    Raises:
        OutputError: It cannot be written.
    """
    write_bytes(path, text.encode(errors=errors))


def write_json(path: str | Path, value: Any, **options: Any) -> None:
    """Write a value as JSON and a line's end.

    Args:
        path: The place.
        value: What ``json`` can write.
        options: As for ``json.dumps``; ``indent`` is 1 unless given.

    Raises:
        OutputError: It cannot be written.
    """
    write_text(path, json.dumps(value, **{"indent": 1, **options}) + "\n")


def append_text(path: str | Path, text: str) -> None:
    """Add to a file, all of it or nothing; made where it is not there.

    Raises:
        OutputError: It cannot be written.
    """
    content = text.encode()
    with writing_to(path), open(path, "ab", buffering=0) as file:
        before = file.tell()
        try:
            while content:
                content = content[file.write(content) :]
        except OSError:
            with suppress(OSError):  # a device has no length
                file.truncate(before)
            raise


@contextmanager
def _part(target: Path) -> Iterator[Path]:
    """The hidden folder of a write, locked while it lasts."""
    _sweep(target.parent)
    number = 0
    while True:
        part = target.with_name(f".{_stem(target)}.{number}{_SUFFIX}")
        try:
            part.mkdir()
        except FileExistsError:
            if not _remove_leftover(part):
                number += 1  # its writer lives
            continue
        handle = _lock(part)
        if handle is not None:
            break
    try:
        yield part
    finally:
        try:
            shutil.rmtree(part, ignore_errors=True)
        finally:
            os.close(handle)


def _commit(part: Path, folder: Path, names: Sequence[str]) -> None:
    """Force files to the disk, then rename them, in this order."""
    for name in names:
        try:
            mode = stat.S_IMODE(os.stat(folder / name).st_mode)
        except FileNotFoundError:
            mode = (
                part.stat().st_mode & 0o666
            )  # what a new file gets; some libraries write for their owner alone
        os.chmod(part / name, mode)
        _sync(part / name)
    for name in names:
        os.replace(part / name, folder / name)
    _sync(folder)


def _stem(target: Path) -> str:
    return target.name.encode(errors="surrogateescape")[:_LONGEST].decode(errors="ignore")


def _lock(part: Path) -> int | None:
    """Lock a hidden folder; None where another process holds the lock, or has removed the folder."""
    try:
        handle = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(part)):
            return handle
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:
        os.close(handle)
        raise
    os.close(handle)
    return None


def _remove_leftover(part: Path) -> bool:
    """Remove what a killed run left; False where its writer lives, or it is another user's."""
    handle = _lock(part)
    if handle is None:
        return not part.exists()
    try:
        name = next((name for name in os.listdir(part) if name != _OLD), None)
        if name is not None and (part / _OLD).is_dir() and not part.with_name(name).exists():
            os.rename(part / _OLD, part.with_name(name))  # killed between the two renames of a swap
        shutil.rmtree(part, ignore_errors=True)
    finally:
        os.close(handle)
    return not part.exists()


@lru_cache(maxsize=1024)
def _sweep(folder: Path) -> None:
    """Remove the leftovers in a folder, once in the life of a process."""
    for name in os.listdir(folder):
        stem, _, number = name.removesuffix(_SUFFIX).rpartition(".")
        if stem.startswith(".") and name.endswith(_SUFFIX) and number.isdigit():
            part = folder / name
            if part.is_dir() and not part.is_symlink():
                _remove_leftover(part)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two names in one step; False where the system cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, exchange = -100, 2
    return call is not None and call(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def _mode(path: str | Path) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _within(found: str, path: str | Path) -> bool:
    """Whether a name that the system complained of belongs to the writing of a path."""
    place, name = Path(os.path.realpath(path)), Path(os.path.realpath(found))
    if place.is_relative_to(name) or name.is_relative_to(place):
        return True
    return str(name).startswith(_hidden(path))


def _hidden(path: str | Path) -> str:
    """How the paths of a place's hidden folders begin."""
    target = Path(os.path.realpath(path))
    return str(target.with_name(f".{_stem(target)}."))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
