"""What the system, or a library, said of a place that cannot be written, as one error with the way out."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from weft.errors import OutputError

_HINTS = {
    errno.ENOSPC: "free some space, or name another place",
    errno.EDQUOT: "free some space, or name another place",
    errno.EFBIG: "a file may not be this large here: name another place",
    errno.EACCES: "name a place that you may write to",
    errno.EPERM: "name a place that you may write to",
    errno.EROFS: "name a place that can be written",
    errno.ENOENT: "make its folder first",
    errno.ENOTDIR: "what should be its folder is a file",
    errno.EISDIR: "it is a folder: name a file",
    errno.EEXIST: "name a new one, or remove it first",
    errno.ENAMETOOLONG: "name a shorter one",
}


def cannot_write(error: OSError, path: str | Path) -> OutputError:
    """The one error of a place that cannot be written, from what the system said."""
    reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
    hint = _HINTS.get(error.errno) if error.errno else None
    return OutputError(f"cannot be written: {reason}", where=str(path), hint=hint)


def cannot_encode(path: str | Path) -> OutputError:
    """The one error of a place whose name is no text, for libraries that need it to be."""
    what = "cannot be written: its name, or a folder's above, is not UTF-8"
    return OutputError(what, where=str(path), hint="name another place")
