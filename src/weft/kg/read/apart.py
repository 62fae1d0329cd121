"""How far apart two places of a text stand: in paragraphs, or in sentences where it has none."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from weft.kg.read.documents import TextDocument
from weft.kg.read.sentences import EMPTY_LINE, sentence_starts

_EMPTY_LINES = re.compile(rf"{EMPTY_LINE}\s*")


@dataclass(frozen=True)
class Breaks:
    """Where the sentences and the paragraphs of a text begin, but for the first ones.

    Args:
        sentences: Offsets, ascending.
        paragraphs: Likewise; after an empty line.
    """

    sentences: tuple[int, ...]
    paragraphs: tuple[int, ...]

    @staticmethod
    def of(text: str) -> Breaks:
        """Those of a text."""
        return Breaks(sentence_starts(text)[1:], tuple(found.end() for found in _EMPTY_LINES.finditer(text)))

    def between(self, first: int, second: int) -> tuple[int, int]:
        """How many paragraphs and how many sentences begin between two places."""
        paragraphs, sentences = (
            abs(bisect_right(starts, first) - bisect_right(starts, second))
            for starts in (self.paragraphs, self.sentences)
        )
        return paragraphs, sentences


def in_paragraphs(document: TextDocument, random: Random, share: float = 1 / 3) -> TextDocument:
    """A document with an empty line before some of its sentences, never inside of a mention.

    Args:
        document: With its mentions and facts.
        random: Chooses the sentences.
        share: Of the sentences that begin a paragraph.
    """
    starts = [
        start
        for start in (document.sentences or sentence_starts(document.text))[1:]
        if random.random() < share and not any(item.start < start < item.end for item in document.mentions)
    ]
    edges = [0, *starts, len(document.text)]
    text, moved = "", list[int]()
    for start, stop in pairwise(edges):
        text = text.rstrip() + "\n\n" if text else text
        moved.append(len(text) - start)
        text += document.text[start:stop]
    mentions = tuple(
        item._replace(start=item.start + by, end=item.end + by)
        for item in document.mentions
        for by in (moved[bisect_right(starts, item.start)],)
    )
    return replace(document, text=text, mentions=mentions, sentences=None)
