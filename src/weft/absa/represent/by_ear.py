"""Words spelled by ear: what is likely meant by a word that several edits part from every word of the lists."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Bags: TypeAlias = npt.NDArray[np.int8]
_LETTERS = 26
_LONGER = 3
"""A word has so many letters more or less than what is meant at most."""
_FURTHER = 4
"""So many letters stand in one of two words alone at most, counted with their number."""
_PER_LETTER = 0.65
"""The highest cost of reading a word as another, for each of its letters."""
_AHEAD = 0.5
"""By so much the likeliest word has to be ahead of the next one."""
_VOWELS = frozenset("aeiouy")
_ALIKE = frozenset(
    one + other
    for sounds in ("ckq", "cszx", "fv", "dt", "gj", "mn", "bp")
    for one in sounds
    for other in sounds
)
"""Pairs of consonants that sound alike."""


class ByEar:
    """Finds the word that is likely meant where no word is one edit away.

    The cost of reading a word as another is ``log(1 + rank / 1000)`` and what the edits between them cost: ½ for a
    letter that should stand twice or an h left out; 1 for another vowel left out or a letter typed twice; 1½ for two
    letters exchanged, another consonant left out or an h too many; 2 for a vowel in place of another or too many and
    a consonant in place of one that sounds like it; 3 for any other letter too many or in place of another. The first
    letter stays.

    Args:
        rank: Words that may be meant, each with its rank by frequency.
    """

    def __init__(self, rank: Mapping[str, int]) -> None:
        self.rank = rank
        groups: dict[str, list[str]] = {}
        for word in rank:
            groups.setdefault(word[0], []).append(word)
        self._groups = {letter: (words, _bags(words)) for letter, words in groups.items()}

    def meant(self, word: str, most: float = _PER_LETTER) -> str:
        """The likeliest word; the same where none costs little enough, or two cost as little.

        Args:
            word: In small letters of ASCII.
            most: The highest cost for each of its letters.
        """
        words, bags = self._groups.get(word[0], ([], np.zeros((0, _LETTERS), np.int8)))
        apart = np.abs(bags - _bags([word])).sum(1)
        most *= len(word)
        least, second, found = math.inf, math.inf, word
        for place in np.flatnonzero(apart <= _FURTHER):
            other = words[place]
            start = math.log1p(self.rank[other] / 1000)
            if abs(len(other) - len(word)) > _LONGER or start > most:
                continue
            cost = start + edits(word, other, min(most, least) + _AHEAD - start)
            if cost < least:
                least, second, found = cost, least, other
            else:
                second = min(second, cost)
        return found if least <= most and second - least >= _AHEAD else word


def edits(word: str, meant: str, most: float = math.inf) -> float:
    """What the edits that make a word of another cost at least; infinite where it is more than ``most``."""
    left = [_left_out(meant, place) for place in range(len(meant))]
    row = [0.0]
    for cost in left:
        row.append(row[-1] + cost)
    previous = row
    for at, letter in enumerate(word):
        too_many = _too_many(word, at)
        older, previous, row = previous, row, [row[0] + too_many]
        for place, other in enumerate(meant):
            cost = previous[place] + (0.0 if letter == other else _in_place(letter, other))
            cost = min(cost, previous[place + 1] + too_many, row[place] + left[place])
            if at and place and letter != other and (letter, word[at - 1]) == (meant[place - 1], other):
                cost = min(cost, older[place - 1] + 1.5)
            row.append(cost)
        if min(row) > most:
            return math.inf
    return row[-1]


def _left_out(word: str, at: int) -> float:
    if word[at] == "h" or (at and word[at - 1] == word[at]):
        return 0.5
    return 1.0 if word[at] in _VOWELS else 1.5


def _too_many(word: str, at: int) -> float:
    if at and word[at - 1] == word[at]:
        return 1.0
    return 1.5 if word[at] == "h" else 2.0 if word[at] in _VOWELS else 3.0


def _in_place(letter: str, other: str) -> float:
    alike = letter + other in _ALIKE or (letter in _VOWELS and other in _VOWELS)
    return 2.0 if alike else 3.0


def _bags(words: Sequence[str]) -> Bags:
    """How often each letter stands in each of some words: ``(word, letter)``."""
    letters = np.frombuffer("".join(words).encode("ascii"), np.uint8) - ord("a")
    owner = np.repeat(np.arange(len(words)), [len(word) for word in words])
    counts = np.bincount(owner * _LETTERS + letters, minlength=len(words) * _LETTERS)
    return counts.reshape(-1, _LETTERS).astype(np.int8)
