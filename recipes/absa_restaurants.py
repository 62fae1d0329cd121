"""Restaurants for SemEval's five categories: its own train split, and texts of other collections that are not in it.

MAMS and ACOS took their texts where SemEval-2014 did: a text that shares most of its words, in a row, with any text of
SemEval's file is left out, whatever part it is in.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from weft.absa.learn.training import split
from weft.absa.read.mams import read_mams
from weft.absa.read.quadruples import read_acos
from weft.absa.read.reviews import Review
from weft.absa.read.semeval import CATEGORIES, TERM_ASPECT, read_semeval
from weft.absa.records import NONE, SEMEVAL_POLARITIES, UNKNOWN, Context, Corpus, Sentence

SAME = {
    "food": "food",
    "menu": "food",
    "service": "service",
    "staff": "service",
    "price": "price",
    "ambience": "ambience",
    "miscellaneous": "anecdotes/miscellaneous",
    "food quality": "food",
    "food style options": "food",
    "drinks quality": "food",
    "drinks style options": "food",
    "food prices": "price",
    "drinks prices": "price",
    "restaurant prices": "price",
    "restaurant": "anecdotes/miscellaneous",
    "restaurant miscellaneous": "anecdotes/miscellaneous",
}
"""The category of SemEval that a category of MAMS or ACOS is."""

UNCLEAR = {"place": ("ambience", "anecdotes/miscellaneous"), "location": ("ambience",)}
"""Categories that may be one or the other: where they are judged, nobody says what SemEval would."""

_NEAR = 0.6
_ROW = 4


@dataclass(frozen=True)
class Parts:
    """SemEval's own split, as ``absa_small.py`` draws it, and the other texts.

    Args:
        train: 70 % of the texts, aspect terms asked as well.
        choice: 15 %, the five categories.
        test: 15 %, the five categories.
        others: Texts of MAMS and ACOS; an answer may be unknown.
        dropped: How many of theirs are in SemEval's file.
    """

    train: Corpus
    choice: Corpus
    test: Corpus
    others: tuple[Sentence, ...]
    dropped: int


def parts(data: Path) -> Parts:
    """Read everything."""
    path = data / "semeval2014/Restaurants_Train.xml"
    whole = read_semeval(path, terms=True)
    rest, test = split(whole, 0.15, seed=0)
    train, choice = split(rest, 0.15 / 0.85, seed=1)
    files = [data / f"absa/mams/{name}-{part}.xml" for name in ("ACSA", "ATSA") for part in ("train", "val")]
    found = [review for file in files for review in read_mams(file).reviews]
    for part in ("train", "dev"):
        acos = data / f"absa/absadatasets/acos-rest16_quad_{part}.tsv.jsonl"
        found += read_acos(acos, "restaurants").reviews
    known = Near([sentence.text for sentence in whole.sentences])
    clean = [review for review in found if review.text not in known]
    texts: dict[str, list[Review]] = {}
    for review in clean:
        texts.setdefault(review.text, []).append(review)
    others = [_asked(text, same, number) for number, (text, same) in enumerate(texts.items())]
    return Parts(
        train,
        choice.only(CATEGORIES),
        test.only(CATEGORIES),
        tuple(sentence for sentence in others if len(sentence.text) < 300),
        len({review.text for review in found}) - len(texts),
    )


class Near:
    """Texts, to be asked whether another is one of them or nearly one: ``"…" in near``.

    Nearly: four words in a row are the same, and the sets of words of both have .6 of all their words in common; or all
    letters and digits are the same.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._sets = [set(_words(text)) for text in texts]
        self._plain = {"".join(_words(text)) for text in texts}
        self._rows: dict[tuple[str, ...], set[int]] = defaultdict(set)
        for number, text in enumerate(texts):
            for row in _rows(text):
                self._rows[row].add(number)

    def __contains__(self, text: str) -> bool:
        words = set(_words(text))
        if "".join(_words(text)) in self._plain:
            return True
        near = {number for row in _rows(text) for number in self._rows.get(row, ())}
        return any(len(words & self._sets[n]) >= _NEAR * len(words | self._sets[n]) for n in near)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _rows(text: str) -> set[tuple[str, ...]]:
    words = _words(text)
    return {tuple(words[i : i + _ROW]) for i in range(len(words) - _ROW + 1)}


def _asked(text: str, reviews: Sequence[Review], number: int) -> Sentence:
    """A text asked about SemEval's categories and the terms that a source judges."""
    opinions = [opinion for review in reviews for opinion in review.opinions]
    answers: dict[Context, str] = {}
    listed = any(review.complete for review in reviews)
    for category in CATEGORIES:
        said = {o.polarity for o in opinions if o.category and SAME.get(o.category) == category}
        unclear = any(o.category in UNCLEAR and category in UNCLEAR[o.category] for o in opinions)
        if said:
            answers[Context(category)] = _one(said)
        else:
            answers[Context(category)] = UNKNOWN if unclear or not listed else NONE
    for term in dict.fromkeys(o.term for o in opinions if o.term and o.term in text):
        said = {o.polarity for o in opinions if o.term == term}
        answers[Context(TERM_ASPECT, term)] = _one(said)
    return Sentence(text, tuple(answers), tuple(answers.values()), f"other {number}")


def _one(polarities: set[str]) -> str:
    """One polarity for several: a neutral word takes nothing from an opinion."""
    told = polarities - {"neutral"} or polarities
    return next(iter(told)) if len(told) == 1 else "conflict"


def as_corpus(sentences: Sequence[Sentence]) -> Corpus:
    """Sentences with unknown answers as a corpus: there these are ``none``, and nothing is learnt from them."""
    known = [
        replace(s, polarities=tuple(NONE if p == UNKNOWN else p for p in s.polarities)) for s in sentences
    ]
    return Corpus(tuple(known), SEMEVAL_POLARITIES)
