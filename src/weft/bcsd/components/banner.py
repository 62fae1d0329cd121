"""What a file itself says of a library's version: a string of it that opens with a name and a version number.

    libpng version 1.6.39        OpenSSL 1.1.1k  25 Mar 2021        expat_2.4.1        deflate 1.3.1 Copyright 1995 …

The name is the library's. It may be a function's of the library where a copyright follows: some libraries sign their
parts. A string that only mentions a version ("needs libpng 1.5 or later") does not open with it, and versions of
symbols (``ZLIB_1.2.9``) name the versions that symbols are from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

#: Strings of a file, and what opens one.
_STRING = re.compile(rb"[\t\n\r\x20-\x7e]{6,}")
_OPENING = re.compile(
    rb"[^A-Za-z0-9]{0,8}(?P<name>[A-Za-z][A-Za-z0-9+._-]*?)(?P<between>[ _/-]{1,2})"
    rb"(?:[Vv]ersion |[Rr]elease |[Vv])?"
    rb"(?P<version>[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}[a-z]?)(?![A-Za-z0-9]|\.[0-9])(?P<rest>.{0,60})",
    re.DOTALL,
)
_COPYRIGHT = re.compile(r"\s*(copyright|\(c\))", re.IGNORECASE)
#: What distributions put behind a name to tell its series: ``libpng1.6``, ``lua5.4``, ``sqlite3``.
_SERIES = re.compile(r"[-_.]?[0-9]+(\.[0-9]+)*$")
_EPOCH = re.compile(r"^[0-9]+:")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)*[a-z]?")


class Banner(NamedTuple):
    """A string of a file that opens with a name and a version.

    Args:
        name: The name.
        version: The number.
        text: The string from the name on, in one line.
        signed: Whether a copyright follows.
    """

    name: str
    version: str
    text: str
    signed: bool


def banners(content: memoryview) -> list[Banner]:
    """All of a file, in its order."""
    found: list[Banner] = []
    for string in _STRING.finditer(content):
        opening = _OPENING.match(string[0])
        if opening is None:
            continue
        name, between, version, rest = (part.decode() for part in opening.groups())
        if not (name.isupper() and between == "_"):
            text = " ".join(opening[0][opening.start("name") :].decode().split())
            found.append(Banner(name, version, text, _COPYRIGHT.match(rest) is not None))
    return found


def said_of(library: str, functions: Collection[str], found: Sequence[Banner]) -> tuple[Banner, ...]:
    """What a file says of one library's version, each number once.

    Args:
        library: Name of its source package.
        functions: Names of functions of the library that are in the file.
        found: Of :func:`banners`.
    """
    names = _names(library)
    said: dict[str, Banner] = {}
    for one in found:
        if one.name.lower() in names or (one.signed and one.name in functions):
            said.setdefault(one.version, one)
    return tuple(said.values())


def agrees(said: str, held: str) -> bool:
    """Whether a number that a file says is that of a version of a package; 1.6 agrees with 1.6.39.

    Args:
        said: As ``1.2.13``.
        held: As ``1:1.2.13.dfsg-1``.
    """
    upstream = _NUMBER.match(_EPOCH.sub("", held))
    if upstream is None:
        return False
    short, long = sorted((said, upstream[0]), key=len)
    return long == short or long.startswith(f"{short}.")


def _names(library: str) -> set[str]:
    """How a library may call itself: with and without what tells its series, and with "lib" before it."""
    own = library.lower()
    found = {own, _SERIES.sub("", own)}
    return {name for one in found for name in (one, f"lib{one}") if len(name) > 2}
