"""Lists of words in few bytes: of words in order, each says how many letters it shares with the one before."""

from __future__ import annotations

import bz2
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

_WORD = re.compile("[A-Z][a-z]*")
_MOST = 25
"""Letters that are shared at most: Z."""


def pack(ranked: Sequence[str], *ordered: Iterable[str]) -> bytes:
    """Lists of words in small letters of ASCII, as :func:`unpack` reads them.

    Args:
        ranked: Whose order matters.
        ordered: Lists that are sorted.
    """
    return bz2.compress("\n".join([" ".join(ranked), *map(_shared, ordered)]).encode("ascii"))


def unpack(data: bytes) -> Iterator[list[str]]:
    """The lists of :func:`pack`, one by one."""
    ranked, *ordered = bz2.decompress(data).decode("ascii").split("\n")
    yield ranked.split(" ")
    for words in ordered:
        yield list(_whole(words))


def _shared(words: Iterable[str]) -> str:
    """``aba, abacus`` as ``AabaDcus``: A for no shared letter, D for three."""
    found, before = list[str](), ""
    for word in words:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(word, before[:_MOST], strict=False))
        number = sum(1 for _ in same)
        found.append(chr(ord("A") + number) + word[number:])
        before = word
    return "".join(found)


def _whole(words: str) -> Iterator[str]:
    word = ""
    for part in _WORD.findall(words):
        word = word[: ord(part[0]) - ord("A")] + part[1:]
        yield word
