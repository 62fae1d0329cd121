"""Uploads on the disk: streamed there, never executed, one hidden folder each with what was made of them."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from anyio import to_thread

from weft.errors import InputError
from weft.platform.files import binary_writer, make_folder, writing_to
from weft.serve.jobs.ledger import Ledger, Upload
from weft.serve.problems import Refusal
from weft.serve.settings import Bounds

_PIECE = 1 << 20
#: Bytes of a name: what file systems take.
_LONGEST = 255
#: How folders of uploads are called; whatever else lies beside them is not the service's.
_OURS = re.compile(r"[0-9a-f]{24}")
#: Endings that a reader decides by; a file on our disk has one of these or none.
_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".txt", ".py", ".md", ".json")


@dataclass
class _Coming:
    """A file that is still being sent."""

    owner: str
    size: int = 0


class Files:
    """The folder of uploads.

    Args:
        folder: Where.
        ledger: Knows whose they are.
        bounds: How much may be kept.
    """

    def __init__(self, folder: Path, ledger: Ledger, bounds: Bounds) -> None:
        self._folder, self._ledger, self._bounds = make_folder(folder), ledger, bounds
        os.chmod(self._folder, 0o700)
        self._coming: dict[str, _Coming] = {}
        self._lock = threading.Lock()

    async def take(self, owner: str, name: str, pieces: AsyncIterator[bytes]) -> Upload:
        """Write a file as it comes.

        Args:
            owner: Whose it is.
            name: What its sender calls it.
            pieces: Its content.

        Raises:
            Refusal: Its owner keeps too much already.
            InputError: It is empty, or its name is none.
            OutputError: The disk is full.
        """
        shown = clean_name(name)
        number = secrets.token_hex(12)
        folder = self._folder / number
        coming = self._coming[number] = _Coming(owner)
        digest = hashlib.sha256()
        try:
            with writing_to(folder):
                folder.mkdir(mode=0o700)
            with binary_writer(self._place(number, shown)) as file:
                waiting = bytearray()
                async for piece in pieces:
                    waiting += piece
                    coming.size += len(piece)
                    if len(waiting) >= _PIECE:
                        content = bytes(waiting)
                        waiting.clear()
                        digest.update(content)
                        await to_thread.run_sync(self._write, owner, file, content)
                digest.update(waiting)
                await to_thread.run_sync(self._write, owner, file, bytes(waiting))
                if not coming.size:
                    raise InputError("the file is empty", where=shown)
            os.chmod(self._place(number, shown), 0o600)
            upload = Upload(number, owner, shown, coming.size, digest.hexdigest(), time.time())
            await to_thread.run_sync(self._keep, upload)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            self._coming.pop(number, None)
            raise
        return upload

    def _write(self, owner: str, file: IO[bytes], content: bytes) -> None:
        """Write a piece, unless the owner's files that are kept and those that are coming have too much together."""
        with self._lock:
            coming = sum(one.size for one in list(self._coming.values()) if one.owner == owner)
            if self._ledger.held(owner) + coming > self._bounds.kept_bytes:
                raise _too_much(self._bounds.kept_bytes)
        file.write(content)

    def _keep(self, upload: Upload) -> None:
        with self._lock:
            self._ledger.add_upload(upload)
            del self._coming[upload.id]

    def path(self, upload: Upload) -> Path:
        """Where its content lies."""
        return self._place(upload.id, upload.name)

    def remove(self, name: str) -> None:
        """Remove a file and what was made of it."""
        self._ledger.remove_upload(name)
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what is too old, and what no list knows: a killed service's."""
        before = time.time() - self._bounds.keep_seconds
        jobs, files = self._ledger.expired(before)
        for name in jobs:
            self._ledger.remove_job(name)
        for name in files:
            self.remove(name)
        # In this order: a folder is of a file that is coming from before it is made until the ledger knows it.
        folders = [folder for folder in self._folder.iterdir() if _OURS.fullmatch(folder.name)]
        known = set(self._coming) | self._ledger.upload_ids()
        for folder in folders:
            if folder.name not in known:
                shutil.rmtree(folder, ignore_errors=True)

    def _place(self, number: str, name: str) -> Path:
        ending = PurePosixPath(name).suffix.lower()
        return self._folder / number / f"content{ending if ending in _ENDINGS else ''}"


def clean_name(name: str) -> str:
    """The last part of a name, as one printable line.

    Raises:
        InputError: Nothing is left.
    """
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    shown = "".join(letter if letter.isprintable() else "�" for letter in last)
    if shown.strip(". ") == "":
        raise InputError(f"{name[:80]!r} is no name of a file")
    return _cut(shown)


def _cut(name: str) -> str:
    """As much of a name as a file system takes; its ending, which says what it is, stays."""
    if len(name.encode()) <= _LONGEST:
        return name
    ending = PurePosixPath(name).suffix
    if ending.lower() not in _ENDINGS:
        ending = ""
    room = _LONGEST - len(ending)
    return name.removesuffix(ending).encode()[:room].decode("utf-8", "ignore") + ending


def _too_much(most: int) -> Refusal:
    return Refusal(
        413,
        "kept",
        "Too much is kept already",
        f"your uploads may have {most:,} bytes together",
        "DELETE /v1/uploads/ID what you need no more",
        Connection="close",
    )
