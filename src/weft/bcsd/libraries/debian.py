"""A Debian package as a file: what it says of itself, and the static libraries in it. Nothing of it is run.

Source: deb(5), an archive of ``debian-binary``, ``control.tar`` and ``data.tar``, the latter two compressed.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from weft.bcsd.read.members import list_members, map_file
from weft.errors import InputError, LimitError
from weft.platform.files import replaced_folder
from weft.platform.reading import cannot_read

#: Bytes of one static library, and of all that one package holds, beyond which it is refused.
_ONE, _ALL = 1 << 30, 4 << 30
_CONTROL_BYTES = 1 << 20
_STEP = 1 << 20
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]*")
_VERSION = re.compile(r"[A-Za-z0-9.+:~-]+")
_BROKEN = (tarfile.TarError, lzma.LZMAError, EOFError, OSError, pa.ArrowException, ValueError)


@dataclass(frozen=True)
class Package:
    """What a package says of itself.

    Args:
        name: Of the package, ``zlib1g-dev``.
        version: Of the package, ``1:1.2.13.dfsg-1``.
        architecture: In Debian's words, ``amd64``.
        library: The source package that it was built from, ``zlib``.
    """

    name: str
    version: str
    architecture: str
    library: str

    @property
    def key(self) -> str:
        """A name for it that is also a name of a folder."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.architecture}"


def read_package(path: str | Path) -> Package:
    """What a package says of itself.

    Raises:
        InputError: It cannot be read, or is no package.
    """
    where = str(path)
    with _opened(where, "control.tar") as tar:
        text = None
        for entry in tar:
            if entry.isreg() and os.path.normpath(entry.name) == "control" and entry.size <= _CONTROL_BYTES:
                text = _content(tar, entry).read().decode("utf-8", "replace")
                break
    if text is None:
        raise InputError("a package without a control file", where=where)
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line and line[:1].strip())
    name, version = fields.get("Package", ""), fields.get("Version", "").strip()
    architecture = fields.get("Architecture", "")
    library = fields.get("Source", name).split(" ")[0]
    for what, pattern in ((name, _NAME), (version, _VERSION), (architecture, _NAME), (library, _NAME)):
        if not pattern.fullmatch(what):
            raise InputError(f"a package whose control file says {what[:60]!r}", where=where)
    return Package(name, version, architecture, library)


def unpack_libraries(path: str | Path, folder: Path) -> list[Path]:
    """Write the static libraries of a package into a folder, all or none; links are left out.

    Args:
        path: The package.
        folder: Where to; replaced.

    Returns:
        The libraries, in the order of their names.

    Raises:
        InputError: The package is damaged.
        LimitError: It unpacks to more than 4 GiB.
        OutputError: The folder cannot be written.
    """
    where, total = str(path), 0
    found: list[str] = []
    with replaced_folder(folder) as part, _opened(where, "data.tar") as tar:
        for entry in tar:
            inside = os.path.normpath(entry.name)
            if not (entry.isreg() and inside.endswith(".a")) or inside.startswith(("/", "..")):
                continue
            total += entry.size
            if entry.size > _ONE or total > _ALL:
                raise LimitError(f"its static libraries have more than {_ALL >> 30} GiB", where=where)
            target = part / inside
            target.parent.mkdir(parents=True, exist_ok=True)
            source = _content(tar, entry)
            with target.open("wb") as file:
                while chunk := source.read(_STEP):
                    file.write(chunk)
            found.append(inside)
    return [folder / inside for inside in sorted(set(found))]


@contextmanager
def _opened(where: str, wanted: str) -> Iterator[tarfile.TarFile]:
    """One of the two archives within a package, to be read in its order.

    Raises:
        InputError: There is none, or it is damaged.
    """
    try:
        content = map_file(where)
    except OSError as error:
        raise cannot_read(error, where) from error
    members = {member.name.removeprefix(wanted): member for member in list_members(content, where)}
    found = next((ending for ending in (".xz", ".gz", ".zst", "") if _holds(members, ending, wanted)), None)
    if found is None:
        raise InputError(f"no Debian package: it has no {wanted}", where=where)
    member = members[found]
    try:
        with tarfile.open(
            fileobj=_expanded(content[member.start : member.start + member.size], found), mode="r|"
        ) as tar:
            yield tar
    except _BROKEN as error:
        # What cannot be written is told by the folder that it should go to.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"a damaged package: {error or type(error).__name__}", where=where) from error


def _holds(members: dict[str, Any], ending: str, wanted: str) -> bool:
    return ending in members and members[ending].name == wanted + ending


def _expanded(content: memoryview, ending: str) -> IO[bytes]:
    if ending == ".xz":
        return lzma.open(io.BytesIO(content))
    if ending == ".gz":
        return io.BufferedReader(gzip.GzipFile(fileobj=io.BytesIO(content)))
    if ending == ".zst":
        stream: Any = pa.CompressedInputStream(pa.BufferReader(content), "zstd")
        return stream
    return io.BytesIO(content)


def _content(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    content = tar.extractfile(entry)
    if content is None:
        raise InputError(f"no content of {entry.name}")
    return content
