"""Texts as words that compare equal however they are cased, composed or spaced."""

from __future__ import annotations

import re
import sys
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from weft.kg.spelling import plain


@dataclass(frozen=True)
class Words:
    """The words of one text; n of them.

    A word is a run of letters, marks, digits and underscores, or a single other character; white space
    falls away.

    Args:
        folded: Each word, composed (NFC) and case-folded.
        starts: ``(n,)`` offsets of their first characters.
        ends: ``(n,)`` offsets after their last.
        small: ``(n,)`` whether each is in small letters; none of a text that has no capitals.
    """

    folded: list[str]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    small: NDArray[np.bool_]


def split_words(text: str) -> Words:
    """The words of a text."""
    spans = [match.span() for match in _word_pattern().finditer(text)]
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    cased = any(map(str.isupper, text))
    small = np.array([cased and text[start:end].islower() for start, end in spans], dtype=bool)
    return Words([_fold(text[start:end]) for start, end in spans], table[:, 0], table[:, 1], small)


def fold(name: str) -> str:
    """A name as its folded words, one space between any two: equal for names that match."""
    return " ".join(_fold(word) for word in _word_pattern().findall(name))


@lru_cache(maxsize=100_000)
def _fold(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFC", plain(word).casefold())


@cache
def _word_pattern() -> re.Pattern[str]:
    r"""Python's ``\w`` has no combining marks, without which Hindi falls to pieces and NFD accents drop off."""
    marks, start = [], None
    for number in range(sys.maxunicode + 2):
        is_mark = number <= sys.maxunicode and unicodedata.category(chr(number))[0] == "M"
        if is_mark and start is None:
            start = number
        elif not is_mark and start is not None:
            marks.append(rf"\U{start:08x}-\U{number - 1:08x}")
            start = None
    return re.compile(rf"[\w{''.join(marks)}]+|\S")
