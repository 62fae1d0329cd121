r"""Sentences of reviews of many kinds of things in which what is judged is marked, and the words that judge it.

A line of ``terms.txt`` is ``kind | text`` with marks: ``[zip pull|-]`` is a term and how it is judged (+ - = *),
``<came off>`` are judging words. A text without marks judges nothing. The characters ``\n`` begin a new line of a text.
A line of ``answers.txt`` is ``kind | question | side | answer``: the question of a form, and what that asked for.
A line of ``exported.txt`` is ``kind | stars | title | text``, as shops and portals export reviews.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from absa_any_lists import LISTS

from weft.absa.read.reviews import Opinion, Review
from weft.absa.records import CONFLICT, SIDES, Side

REVIEWS = LISTS / "marked.txt"
"""Whole reviews, marked in the same way; none of them chooses."""
EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "absa"
FORMS = (*sorted(EXAMPLES.glob("answers-*.txt")), LISTS / "answers-choices.txt")
EXPORTS = (*sorted(EXAMPLES.glob("exported-*.txt")), LISTS / "exported-choices.txt")
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
    return [read_line(line, number % 10 == 7) for number, line in enumerate(_lines(path))]


def _lines(path: Path) -> list[str]:
    """The lines of a file that are no comments."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]


def read_line(line: str, chooses: bool) -> MarkedText:
    """One line: ``kind | text`` with marks."""
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


@dataclass(frozen=True)
class MarkedAnswer:
    """An answer with its question, and what it was asked for."""

    question: str
    side: Side
    marked: MarkedText


def read_answers(path: Path) -> list[MarkedAnswer]:
    """The answers of a file.

    Raises:
        ValueError: A line has no side, or a mark that is none.
    """
    found: list[MarkedAnswer] = []
    for line in _lines(path):
        kind, question, side, answer = line.split(" | ", 3)
        if side not in SIDES:
            raise ValueError(f"{side!r} is no side: {line}")
        found.append(MarkedAnswer(question, cast(Side, side), read_line(f"{kind} | {answer}", False)))
    return found


@dataclass(frozen=True)
class MarkedExport:
    """A review as it is exported: its stars, 1 to 5, its title, its text."""

    stars: int
    title: MarkedText
    marked: MarkedText


def read_exported(path: Path) -> list[MarkedExport]:
    """The reviews of a file.

    Raises:
        ValueError: A line has no stars, or a mark that is none.
    """
    found: list[MarkedExport] = []
    for line in _lines(path):
        kind, stars, title, text = line.split(" | ", 3)
        if stars not in set("12345"):
            raise ValueError(f"{stars!r} is no number of stars: {line}")
        own, told = (read_line(f"{kind} | {part}", False) for part in (title, text))
        found.append(MarkedExport(int(stars), own, told))
    return found


def runs(text: str) -> set[tuple[str, ...]]:
    """Its runs of six words."""
    words = re.findall(r"\w+", text.lower())
    return set(zip(*(words[n:] for n in range(6)), strict=False))


def measured_runs() -> set[tuple[str, ...]]:
    """The runs of six words of the marked reviews that measure, and of answers and exports that measure or choose."""
    return set().union(
        *(runs(one.text) for file in EXAMPLES.glob("marked-*.txt") for one in read_marked(file)),
        *(runs(one.marked.text) for file in FORMS for one in read_answers(file)),
        *(runs(one.marked.text) for file in EXPORTS for one in read_exported(file)),
    )


def learnt(path: Path, chooses: bool = False) -> list[MarkedText]:
    """What may be learnt from: what shares no six words in a row with what measures.

    Args:
        path: Of marked texts.
        chooses: Whether every tenth of them chooses, and is left out.
    """
    measured = measured_runs()
    return [
        one for one in read_marked(path) if not (chooses and one.chooses) and not runs(one.text) & measured
    ]


def learnt_answers() -> list[MarkedAnswer]:
    """Those to learn from: what shares no six words in a row with what measures or chooses."""
    apart = measured_runs()
    return [one for one in read_answers(LISTS / "answers.txt") if not runs(one.marked.text) & apart]
