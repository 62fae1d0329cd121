"""Where a text stops being UTF-8."""

from __future__ import annotations

import codecs
from pathlib import Path

_CHUNK = 1 << 20


def undecodable(path: str | Path) -> tuple[int, int] | None:
    """The line of the first byte that is no part of UTF-8, and that byte; None where there is none, or no regular file.

    Lines end with a line feed. A file that was read piece by piece is read once more: the error of the piece does not
    know where that stood.
    """
    if not Path(path).is_file():
        return None
    decoder, line = codecs.getincrementaldecoder("utf-8")(), 1
    with open(path, "rb") as raw:
        while True:
            chunk = raw.read(_CHUNK)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                # Bytes that the last chunk left begin a character, and are no line's end.
                return line + error.object.count(b"\n", 0, error.start), error.object[error.start]
            if not chunk:
                return None
            line += chunk.count(b"\n")
