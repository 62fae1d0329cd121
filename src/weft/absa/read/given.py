"""What a user gave: a table, a text, or a path that is neither."""

from __future__ import annotations

import re
from pathlib import Path

from weft.absa.read.table import SAVE_AS, SUFFIXES, WORKBOOK, WORKBOOKS, array_hint
from weft.errors import InputError
from weft.platform.reading import LINE_CHARACTERS, name_of, text_stream

_PATH = re.compile(r"(?:\.{0,2}/)?(?:[^\s/]+/)*[^\s/]*\.[A-Za-z0-9]{1,8}|(?:\.{0,2}/)[^\s]*|\S+/")
"""One word with a suffix, or that begins or ends as a path does."""

_COMMENT = re.compile(r"(?:^|\s)#.*")
_BY_INPUT = "a text that looks like a path comes by standard input"


def text_of(given: str) -> str:
    """A text that was given, or with ``-`` what standard input holds, without the line's end behind it.

    Raises:
        InputError: It is a path or a table, or standard input is no text or longer than a line may be.
    """
    if given == "-":
        with text_stream(given, newline="") as stream:
            text = stream.read(LINE_CHARACTERS + 1)
        if len(text) > LINE_CHARACTERS:
            raise InputError(f"is longer than {LINE_CHARACTERS:,} characters", where=name_of(given))
        return text.rstrip("\r\n")
    if is_table(given):
        raise InputError("is a table", where=given, hint="one text is explained at a time")
    return given


def without_comment(line: str) -> str:
    """A line of a list that a user wrote: ``#`` at its start or after a space begins a comment."""
    return _COMMENT.sub("", line).strip()


def is_table(given: str, form: str | None = None) -> bool:
    """Whether an argument names a table; otherwise it is a text.

    Args:
        given: A text, a path, or ``-``.
        form: The format that was named, if one was.

    Raises:
        InputError: It is a path, and not of a table: a folder, a file of an unknown kind or one that is not there.
    """
    if given == "-" or form is not None:
        return True
    try:
        there = bool(given.strip()) and Path(given).exists()
    except (OSError, ValueError):  # too long for a path, or no path at all
        there = None
    if Path(given).suffix.lower() in SUFFIXES:
        if there is False:
            raise InputError("is not there", where=given, hint=f"look at the path's spelling; {_BY_INPUT}")
        return True
    if there:
        what = "is a folder" if Path(given).is_dir() else "is a file of an unknown kind"
        hint = f"--input-format, or one of {', '.join(SUFFIXES)}"
        if Path(given).suffix.lower() in WORKBOOKS:
            what, hint = WORKBOOK, SAVE_AS
        elif Path(given).suffix.lower() == ".json":
            hint = array_hint(given)
        raise InputError(what, where=given, hint=hint)
    if _PATH.fullmatch(given):
        raise InputError("is not there", where=given, hint=_BY_INPUT)
    return False
