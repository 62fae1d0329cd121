"""Names from a binary, as text that any terminal, JSON file or table can hold."""

from __future__ import annotations


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
