"""Which opinion a long text has of something: by the passage that speaks of it most clearly, beside the whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from weft.absa.records import Sentence, is_blank
from weft.absa.use.windows import Heard, sentence_begins

Floats = NDArray[np.float64]
LEAST = 6
"""A text of fewer sentences is heard in the whole alone."""
_TOGETHER = 3
_PARAGRAPH = re.compile(r"\S[^\S\n]*\n\s*\n\s*\S|(?:<br\s*/?>\s*){2}|</p>\s*\S|<p\b", re.IGNORECASE)
_JUDGED = 0.2
"""From which share of all opinions together on passages are asked which one it is."""


def passages(text: str) -> list[tuple[int, int]]:
    """Every second sentence with the two behind it, first character and last + 1; none of a text of few sentences.

    Each shares a sentence with the next one: what a sentence calls "it" stands in the one before.
    """
    begins = sentence_begins(text)
    last = len(begins) - _TOGETHER
    if len(begins) < LEAST:
        return []
    ends = [*begins[_TOGETHER:], len(text)]
    found = [(begins[first], ends[first]) for first in sorted({*range(0, last, _TOGETHER - 1), last})]
    return [(start, stop) for start, stop in found if not is_blank(text[start:stop])]


def in_paragraphs(text: str) -> bool:
    """Whether a text has paragraphs: whoever makes them tells one thing after the other."""
    return _PARAGRAPH.search(text) is not None


def by_passages(
    sentences: Sequence[Sentence],
    heard: Sequence[Heard],
    weight: float,
    answer: Callable[[list[Sentence]], list[Heard]],
    without_paragraphs: float | None = None,
) -> list[Heard]:
    """The answers, in which passages have a say about which opinion it is; whether there is one stays as it was.

    Of a long text in paragraphs a model hears what is said of other things, too: praise of one and blame of another
    are no ``conflict``. A question about a target is left: its name stands in one sentence and is "it" in the next
    ones.

    Args:
        sentences: Texts with their questions.
        heard: What the whole texts answer.
        weight: w of :meth:`weft.absa.use.windows.Beside.rows`.
        answer: Answers questions about passages.
        without_paragraphs: w of a text that has none; None does not ask its passages.
    """
    asked: list[Sentence] = []
    whose: dict[int, tuple[list[int], list[tuple[int, int]], int, float]] = {}
    for number, (sentence, own) in enumerate(zip(sentences, heard, strict=True)):
        columns = [
            column
            for column, context in enumerate(sentence.contexts)
            if context.target is None and own.rows[column, 0] <= 1 - _JUDGED
        ]
        own_weight = weight if in_paragraphs(sentence.text) else without_paragraphs
        places = [] if own_weight is None or not columns else passages(sentence.text)
        if places and own_weight is not None:
            whose[number] = columns, places, len(asked), own_weight
            contexts = tuple(sentence.contexts[column] for column in columns)
            asked += [Sentence(sentence.text[start:stop], contexts) for start, stop in places]
    told = answer(asked) if asked else []
    found = list(heard)
    for number, (columns, places, first, own_weight) in whose.items():
        own = told[first : first + len(places)]
        clearest = Heard.among(np.stack([one.rows for one in own]), np.stack([one.factor for one in own]))
        found[number] = heard[number].beside(columns, clearest, places, own_weight)
    return found
