"""Characters that are written in more than one way and mean the same."""

from __future__ import annotations

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("’‘ʼ＇", "'"),
        **dict.fromkeys("\u2010\u2011", "-"),
        **dict.fromkeys("\u00ad\u200b\u2060\ufeff"),
    }
)


def plain(name: str) -> str:
    """A name with plain apostrophes and hyphens, and without marks that have no width (a soft hyphen)."""
    return name if name.isascii() else name.translate(_ALIKE)
