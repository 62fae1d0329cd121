"""Uploads on the disk: streamed there, never executed, one hidden folder each with what was made of them."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

from anyio import to_thread

from weft.errors import InputError
from weft.platform.files import binary_writer, make_folder
from weft.serve.jobs.ledger import Ledger, Upload
from weft.serve.problems import Refusal
from weft.serve.settings import Bounds

_PIECE = 1 << 20
_LONGEST = 200
#: Endings that a reader decides by; a file on our disk has one of these or none.
_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".txt", ".py", ".md", ".json")


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
        held = await to_thread.run_sync(self._ledger.held, owner)
        folder = self._folder / number
        digest, size = hashlib.sha256(), 0
        try:
            folder.mkdir(mode=0o700)
            with binary_writer(self._place(number, shown)) as file:
                waiting = bytearray()
                async for piece in pieces:
                    waiting += piece
                    size += len(piece)
                    if held + size > self._bounds.kept_bytes:
                        raise _too_much(self._bounds.kept_bytes)
                    if len(waiting) >= _PIECE:
                        content = bytes(waiting)
                        waiting.clear()
                        digest.update(content)
                        await to_thread.run_sync(file.write, content)
                digest.update(waiting)
                file.write(waiting)
                if not size:
                    raise InputError("the file is empty", where=shown)
            os.chmod(self._place(number, shown), 0o600)
            upload = Upload(number, owner, shown, size, digest.hexdigest(), time.time())
            await to_thread.run_sync(self._ledger.add_upload, upload)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return upload

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
        known = self._ledger.upload_ids()
        for folder in self._folder.iterdir():
            if folder.name not in known and folder.stat().st_mtime < time.time() - self._bounds.job_seconds:
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
    shown = "".join(letter if letter.isprintable() else "�" for letter in last)[:_LONGEST]
    if shown.strip(". ") == "":
        raise InputError(f"{name[:80]!r} is no name of a file")
    return shown


def _too_much(most: int) -> Refusal:
    return Refusal(
        413,
        "kept",
        "Too much is kept already",
        f"your uploads may have {most:,} bytes together",
        "DELETE /v1/uploads/ID what you need no more",
        Connection="close",
    )
