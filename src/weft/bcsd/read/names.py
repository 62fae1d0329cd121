"""Names from a binary, as text that any terminal, JSON file or table can hold."""

from __future__ import annotations

import os
import re
import sys

_LETTER = re.compile(r"\\x[0-9a-f]{2}|\\u(?!d[89a-f])[0-9a-f]{4}|\\U[0-9a-f]{8}")
_MADE_UP = re.compile(r"sub_[0-9a-f]+")
_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")


def enum_name(value: object) -> str:
    """The bare name of one of lief's enumeration values."""
    return str(value).rpartition(".")[2]


def printable(name: str | bytes) -> str:
    """A symbol's or section's name: odd bytes become escapes."""
    text = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else name
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() and c.isascii() else c.encode("unicode_escape").decode() for c in text
    )


def letters_of(name: str) -> str:
    """The inverse of :func:`printable`, of a name that has no backslash of its own, as mangled ones have none."""
    return _LETTER.sub(lambda found: chr(min(int(found[0][2:], 16), sys.maxunicode)), name)


def spelled(path: str) -> str:
    """A path as tables and indices hold it: bytes that are no text become escapes, such as ``é`` in Latin-1."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def place_of(name: str) -> str:
    """The inverse of :func:`spelled`, of a path that had such bytes."""
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), os.fsencode(name)))


def is_made_up(name: str) -> bool:
    """Whether a function has this name for want of one in its file."""
    return _MADE_UP.fullmatch(name) is not None
