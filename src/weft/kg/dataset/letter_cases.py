"""The letter case of words, which an uncased vocabulary loses and a name is known by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kg.dataset.tokens import Tokens

SMALL, CAPITALISED, CAPITALS, MIXED, DIGITS = range(5)
CASES = 5
"""Number of letter cases: rows of the encoder's token types, where it is told them."""


def letter_case(word: str) -> int:
    """The case of a word: with a digit, all capitals (two letters or more), capitalised, mixed, or small."""
    if any(character.isdigit() for character in word):
        return DIGITS
    letters = [character for character in word if character.isalpha()]
    if not any(letter.isupper() for letter in letters):
        return SMALL
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return CAPITALS
    return CAPITALISED if letters[0].isupper() and not any(map(str.isupper, letters[1:])) else MIXED


def letter_cases(text: str, tokens: Tokens) -> NDArray[np.int64]:
    """The case of the word that each token is part of, ``(n,)``.

    Args:
        text: What the tokens are of.
        tokens: With their offsets and words.
    """
    result = np.zeros(len(tokens), dtype=np.int64)
    if not len(tokens):
        return result
    first = np.flatnonzero(np.diff(tokens.words, prepend=tokens.words[0] - 1))
    last = np.append(first[1:], len(tokens)) - 1
    cases = [
        letter_case(text[start:end])
        for start, end in zip(tokens.starts[first].tolist(), tokens.ends[last].tolist(), strict=True)
    ]
    return np.repeat(np.array(cases, dtype=np.int64), last - first + 1)
