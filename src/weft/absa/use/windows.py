"""Texts that are longer than the model reads at once: windows of them, and what each says."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from weft.absa.records import Sentence, Side, is_blank
from weft.absa.represent.batch import Representation
from weft.absa.use.sides import leaning
from weft.absa.use.sureness import reheated

Floats = NDArray[np.float64]
_TINY = np.finfo(np.float64).tiny
_SENTENCE_END = re.compile(
    r"(?<![.!?…])[.!?…]+[\"')\]”’»]*\s+|\n\s*\n\s*|\n[ \t]*(?=[-*•]\s)|(?:<br\s*/?>\s*)+"
)
_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|vs|e\.g|i\.e)\.\s+$")
"""What ends with a dot and is no end of a sentence."""
_TITLE_ROOM = 12
"""Characters before a begin in which such a word is looked for."""


@dataclass(frozen=True)
class Beside:
    """What the clearest passage of a text says, and the whole without it.

    Args:
        whole: ``(contexts, classes)``, what the whole says.
        near: ``(contexts, classes)``, what the passage says; NaN where none was asked.
        factors: ``(contexts,)``, L of the passage.
        places: ``(contexts, 2)``, the passage's first character and last + 1; -1 where none was asked.
        weight: w of :meth:`rows`.
    """

    whole: Floats
    near: Floats
    factors: Floats
    places: NDArray[np.int64]
    weight: float

    def of(self, contexts: Sequence[int]) -> Beside:
        """Of these questions."""
        return replace(
            self,
            whole=self.whole[contexts],
            near=self.near[contexts],
            factors=self.factors[contexts],
            places=self.places[contexts],
        )

    def rows(self) -> Floats:
        """``none`` as the whole has it; among the opinions P(c) ∝ whole_c^(1−w) · near_c^w."""
        asked = ~np.isnan(self.near[:, 0])
        logs = [np.log(np.maximum(part[asked, 1:], _TINY)) for part in (self.whole, self.near)]
        logs = [part - np.logaddexp.reduce(part, axis=1, keepdims=True) for part in logs]
        mean = (1 - self.weight) * logs[0] + self.weight * logs[1]
        among = np.exp(mean - np.logaddexp.reduce(mean, axis=1, keepdims=True))
        found = self.whole.copy()
        found[asked, 1:] = (1 - self.whole[asked, :1]) * among
        return found


@dataclass(frozen=True)
class Heard:
    """The answers about one text.

    Args:
        rows: ``(contexts, classes)``.
        parts: ``(windows, contexts, classes)``, what each window says; NaN where it does not mention the target and
            another one does. None for a text of one window.
        speaking: ``(contexts,)``, which window answers. None for a text of one window.
        factors: ``(contexts,)``, or ``(windows, contexts)`` of several windows: L of
            :func:`weft.absa.use.sureness.flattened`. None where length does not count.
        beside_whole: What passages say beside the whole, where they were asked.
    """

    rows: Floats
    parts: Floats | None = None
    speaking: NDArray[np.int64] | None = None
    factors: Floats | None = None
    beside_whole: Beside | None = None

    @classmethod
    def among(cls, parts: Floats, factors: Floats | None) -> Heard:
        """Of several windows: for each question the one with the least probability of ``none`` speaks."""
        speaking = np.where(np.isnan(parts[..., 0]), np.inf, parts[..., 0]).argmin(axis=0)
        return cls(parts[speaking, np.arange(len(speaking))], parts, speaking, factors)

    @property
    def factor(self) -> Floats:
        """L of every row, ``(contexts,)``."""
        if self.factors is None:
            return np.ones(len(self.rows))
        return self.factors if self.speaking is None else self.factors[self.speaking, range(len(self.rows))]

    def of(self, contexts: Sequence[int]) -> Heard:
        """The answers to these questions."""
        return Heard(
            self.rows[contexts],
            None if self.parts is None else self.parts[:, contexts],
            None if self.speaking is None else self.speaking[contexts],
            None if self.factors is None else self.factors[..., contexts],
            None if self.beside_whole is None else self.beside_whole.of(contexts),
        )

    def beside(
        self, contexts: Sequence[int], near: Heard, places: Sequence[tuple[int, int]], weight: float
    ) -> Heard:
        """The answers, in which passages have a say of these questions: see :meth:`Beside.rows`.

        Args:
            contexts: Their numbers.
            near: What the clearest of the passages says of each.
            places: Of all passages.
            weight: w.
        """
        every, sure = np.full_like(self.rows, np.nan), np.ones(len(self.rows))
        where = np.full((len(self.rows), 2), -1)
        every[contexts], sure[contexts] = near.rows, near.factor
        where[contexts] = np.array(places)[near.speaking]
        beside = Beside(self.rows, every, sure, where, weight)
        return replace(self, rows=beside.rows(), beside_whole=beside)

    def leaning(self, side: Side | None, classes: tuple[str, ...]) -> Heard:
        """The answers, as those of a text that was asked for one side: see :func:`weft.absa.use.sides.leaning`."""
        if side is None:
            return self
        parts = None if self.parts is None else leaning(self.parts, side, classes)
        beside = self.beside_whole
        if beside is not None:
            beside = replace(
                beside, whole=leaning(beside.whole, side, classes), near=leaning(beside.near, side, classes)
            )
        return replace(self, rows=leaning(self.rows, side, classes), parts=parts, beside_whole=beside)

    def at(self, ratio: float) -> Floats:
        """The rows at another temperature, this one times ``ratio``: another window may speak then."""
        if self.beside_whole is not None:
            beside = self.beside_whole
            whole = replace(self, rows=beside.whole, beside_whole=None).at(ratio)
            return replace(beside, whole=whole, near=_reheated(beside.near, beside.factors, ratio)).rows()
        if self.parts is None:
            return reheated(self.rows, self.factor, ratio)
        factors = np.ones(self.parts.shape[:2]) if self.factors is None else self.factors
        return Heard.among(_reheated(self.parts, factors, ratio), factors).rows

    def most(self, context: int, column: int) -> float:
        """The largest share of a class that a window gives it; 0 for a text of one window."""
        return 0.0 if self.parts is None else float(np.nanmax(self.parts[:, context, column]))


def _reheated(rows: Floats, factors: Floats, ratio: float) -> Floats:
    """:func:`weft.absa.use.sureness.reheated`; what is NaN stays so."""
    silent = np.isnan(rows)
    return np.where(silent, np.nan, reheated(np.where(silent, 1.0, rows), factors, ratio))


def sentence_begins(text: str) -> list[int]:
    """Where the sentences of a text begin."""
    return sorted({0, *(end for end in _sentence_ends(text) if end < len(text))})


def _sentence_ends(text: str) -> list[int]:
    """Behind each end of a sentence: after its mark, before an empty line's other side, before a bullet."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return [end for end in ends if not _TITLE.search(text, max(0, end - _TITLE_ROOM), end)]


def with_words(text: str, cuts: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of the windows in whose characters something is to be seen."""
    shown = [(begin, end) for begin, end in cuts if not is_blank(text[begin:end])]
    if shown:
        return shown
    # All that can be seen has no piece of its own: it stands before, behind or between the windows.
    begins = [0, *(begin for begin, _ in cuts[1:])]
    ends = [*(max(end, begin) for (_, end), (begin, _) in pairwise(cuts)), len(text)]
    return [(begin, end) for begin, end in zip(begins, ends, strict=True) if not is_blank(text[begin:end])]


def cut_windows(text: str, offsets: Sequence[tuple[int, int]], room: int) -> list[tuple[int, int]]:
    """Windows of at most ``room`` tokens, first and last + 1, that share about a quarter with the next.

    They begin and end between sentences where there is such a place: what is said of a target stands with its name, and
    half a sentence about another thing is not taken for its.
    """
    ends = set(_sentence_ends(text))
    first_tokens = [number for number, (start, _) in enumerate(offsets) if start in ends]
    windows: list[tuple[int, int]] = []
    first = 0
    while True:
        last = min(first + room, len(offsets))
        whole = last == len(offsets)
        if not whole:
            before = bisect_right(first_tokens, last)
            if before and first_tokens[before - 1] > first + room // 2:
                last = first_tokens[before - 1]
        windows.append((first, last))
        if whole:
            return windows
        shared = bisect_left(first_tokens, max(first, last - room // 4))
        starts = shared < len(first_tokens) and first_tokens[shared] <= last
        first = max(first + 1, first_tokens[shared] if starts else last - room // 4)


def most_telling(
    text: str, parts: Sequence[tuple[int, Sentence, Heard]], representation: Representation
) -> Heard:
    """Of several windows of a text, each with its begin: those that mention the target speak, where any does."""
    begins, windows, heard = zip(*parts, strict=True)
    stacked = np.stack([each.rows for each in heard])
    for column, context in enumerate(windows[0].contexts):
        holds = np.array(
            representation.mentioning(text, context.target, begins, [window.text for window in windows])
        )
        if holds.any():
            stacked[~holds, column] = np.nan
    return Heard.among(stacked, np.stack([each.factor for each in heard]))


def parts_of(sentence: Sentence, most: int) -> list[Sentence]:
    """The sentence with so many of its questions at a time: none sees another, and memory grows with their square."""
    count, most = len(sentence.contexts), max(1, most)
    if count <= most:
        return [sentence]
    return [sentence.only(range(first, min(first + most, count))) for first in range(0, count, most)]
