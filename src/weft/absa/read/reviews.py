"""Reviews in one format: a text, what it judges, and whether everything that it judges is listed.

Sources differ in what they label: the words of the text that are judged (*terms*), the things they belong to
(*categories*), or both. A review keeps what its source says; questions are made of it later, for training by a recipe,
for measuring by :func:`questions`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from weft.absa.records import CONFLICT, NONE, Context, Corpus, Problems, Sentence
from weft.errors import InputError
from weft.platform.reading import read_text

POLARITIES = (NONE, "positive", "negative", "neutral", CONFLICT)
"""The classes of reviews; ``conflict`` where a text praises and blames one thing. No source has it as a label."""

_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BREAKS = re.compile(r"[#_/&\-\s]+")
_EMPTY = frozenset({"general", "polarity"})


@dataclass(frozen=True)
class Opinion:
    """One judgement.

    Args:
        polarity: ``positive``, ``negative`` or ``neutral``.
        term: The words of the text that are judged; None where it is said without naming it.
        category: What they belong to, in words; None where the source has no categories.
        words: The words of the text that judge; None where the source does not mark them, or there are none.
    """

    polarity: str
    term: str | None = None
    category: str | None = None
    words: str | None = None


@dataclass(frozen=True)
class Review:
    """One text of a source.

    Args:
        text: The text.
        opinions: What it judges.
        domain: What it is about: ``"restaurants"``.
        complete: Whether all that the text judges is listed, so that another category of the source is ``none``.
        where: The place in the source.
    """

    text: str
    opinions: tuple[Opinion, ...]
    domain: str
    complete: bool = False
    where: str = ""


@dataclass(frozen=True)
class Reviews:
    """The reviews of a source, and the records that were left out."""

    reviews: tuple[Review, ...]
    problems: Problems = field(default_factory=Problems)


def category_words(name: str) -> str:
    """A category's name as words: ``"LAPTOP#DESIGN_FEATURES"`` becomes ``"laptop design features"``.

    Each word once, and without ``general``, which says nothing beside another.
    """
    words = _BREAKS.sub(" ", _CASE.sub(" ", name)).lower().split()
    told = [word for word in words if word not in _EMPTY]
    return " ".join(dict.fromkeys(told or words))


def agreed(opinions: Iterable[tuple[str, str]]) -> tuple[dict[str, str], set[str]]:
    """The polarity of each key of (key, polarity) pairs, and the keys of which a text says two things.

    A neutral word beside an opinion takes nothing from it.
    """
    found: dict[str, set[str]] = {}
    for key, polarity in opinions:
        found.setdefault(key, set()).add(polarity)
    single: dict[str, str] = {}
    split: set[str] = set()
    for key, polarities in found.items():
        told = polarities - {"neutral"} or polarities
        if len(told) == 1:
            single[key] = next(iter(told))
        else:
            split.add(key)
    return single, split


def questions(reviews: Sequence[Review], categories: int = 10, limit: int | None = None) -> Corpus:
    """Complete reviews as a corpus: each text is asked about the categories that the reviews speak of most.

    A category that a text both praises and blames is not asked about: sources differ in what they make of it.

    Args:
        reviews: The reviews of one domain.
        categories: How many categories are asked about.
        limit: The most texts, from the beginning; all where None.

    Raises:
        InputError: No review names a category.
    """
    reviews = list(reviews)[:limit]
    counts = Counter(
        opinion.category for review in reviews for opinion in review.opinions if opinion.category
    )
    asked = [name for name, _ in counts.most_common(categories)]
    if not asked:
        raise InputError("no review names a category: there is nothing to ask about")
    sentences: list[Sentence] = []
    for review in reviews:
        single, split = agreed((o.category, o.polarity) for o in review.opinions if o.category)
        told = [name for name in asked if name not in split]
        if told:
            contexts = tuple(Context(name) for name in told)
            answers = tuple(single.get(name, NONE) for name in told)
            sentences.append(Sentence(review.text, contexts, answers, review.where))
    return Corpus(tuple(sentences), POLARITIES)


def polarity_of(name: object) -> str:
    """A source's polarity as one of ours.

    Raises:
        InputError: It is none.
    """
    found = _POLARITY.get(str(name).strip().lower()) if isinstance(name, str) else None
    if found is None:
        raise InputError(f"polarity {name!r}; known are positive, negative and neutral")
    return found


def read_lines(path: Path) -> list[str]:
    """The lines of a source.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    # Not splitlines(): a text may hold U+2028 or a form feed.
    return read_text(path).removesuffix("\n").replace("\r\n", "\n").split("\n")


_POLARITY = {name: full for full in POLARITIES[1:4] for name in (full, full[:3])}
