r"""Sentences of reviews of many kinds of things in which what is judged is marked, and the words that judge it.

A line of ``terms.txt`` is ``kind | text`` with marks: ``[zip pull|-]`` is a term and how it is judged (+ - = *),
``<came off>`` are judging words. A text without marks judges nothing. The characters ``\n`` begin a new line of a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from absa_any_lists import LISTS

from weft.absa.read.reviews import Opinion, Review
from weft.absa.records import CONFLICT

REVIEWS = LISTS / "marked.txt"
"""Whole reviews, marked in the same way; none of them chooses."""
EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "absa"
_POLARITY = {"+": "positive", "-": "negative", "=": "neutral", "*": CONFLICT}
_MARK = re.compile(r"\[(?P<term>[^\[\]|<>]+)\|(?P<sign>[-+=*])\]|<(?P<words>[^<>\[\]|]+)>")


@dataclass(frozen=True)
class MarkedText:
    """A text; where its terms and judging words stand; how each term is judged.

    Args:
        kind: What it is about.
        text: The text without marks.
        terms: First character and last + 1 of each term.
        polarities: Of each term.
        words: Of the judging words.
        chooses: Whether it is one of the tenth that is not trained on.
    """

    kind: str
    text: str
    terms: tuple[tuple[int, int], ...]
    polarities: tuple[str, ...]
    words: tuple[tuple[int, int], ...]
    chooses: bool

    def review(self) -> Review:
        """As a review, whose domain no category belongs to: its terms are asked about as targets."""
        opinions = zip(self.terms, self.polarities, strict=True)
        return Review(self.text, tuple(Opinion(p, self.text[a:b]) for (a, b), p in opinions), "written")


def read_marked(path: Path = LISTS / "terms.txt") -> list[MarkedText]:
    """The sentences.

    Raises:
        ValueError: A line has a mark that is none.
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return [_read(line, number % 10 == 7) for number, line in enumerate(lines)]


def _read(line: str, chooses: bool) -> MarkedText:
    kind, marked = line.replace("\\n", "\n").split(" | ", 1)
    text, at = "", 0
    terms: list[tuple[int, int]] = []
    polarities: list[str] = []
    words: list[tuple[int, int]] = []
    for mark in _MARK.finditer(marked):
        text += marked[at : mark.start()]
        inner = mark["term"] or mark["words"]
        (terms if mark["term"] else words).append((len(text), len(text) + len(inner)))
        if mark["term"]:
            polarities.append(_POLARITY[mark["sign"]])
        text, at = text + inner, mark.end()
    text += marked[at:]
    if re.search(r"[\[\]<>|]", text):
        raise ValueError(f"a mark that is none: {line}")
    return MarkedText(kind, text, tuple(terms), tuple(polarities), tuple(words), chooses)


def runs(text: str) -> set[tuple[str, ...]]:
    """Its runs of six words."""
    words = re.findall(r"\w+", text.lower())
    return set(zip(*(words[n:] for n in range(6)), strict=False))


def learnt(path: Path, chooses: bool = False) -> list[MarkedText]:
    """What may be learnt from: what shares no six words in a row with what measures.

    Args:
        path: Of marked texts.
        chooses: Whether every tenth of them chooses, and is left out.
    """
    measured = set().union(
        *(runs(one.text) for file in EXAMPLES.glob("marked-*.txt") for one in read_marked(file))
    )
    return [
        one for one in read_marked(path) if not (chooses and one.chooses) and not runs(one.text) & measured
    ]
