"""Categories in words, and which of them a term belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.absa.model.weft_absa import WeftAbsa
from weft.absa.read.given import without_comment
from weft.absa.represent.spelling import shown
from weft.absa.use.asker import Asker
from weft.errors import InputError
from weft.platform.reading import lines

_WORDS = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_LITTLE = frozenset(
    (
        *(
            "a",
            "an",
            "the",
            "of",
            "for",
            "and",
            "or",
            "in",
            "on",
            "at",
            "to",
            "with",
            "by",
            "from",
            "as",
            "is",
            "are",
        ),
        *("my", "our", "your", "his", "her", "its", "their", "this", "that", "these", "those", "no", "not"),
    )
)
"""Words that say nothing of a category: "Tower of London" is no "ease of use"."""
_LEAST = 0.5
"""Cosine from which on words that share nothing with a category may belong to it."""
_REMEMBERED = 100_000
"""Most terms that are remembered: a table is a stream."""


@dataclass(frozen=True)
class Category:
    """One category.

    Args:
        name: What it is called.
        words: Words that belong to it.
    """

    name: str
    words: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        """As an aspect that a text is asked about."""
        return f"{self.name}: {', '.join(self.words[:4])}" if self.words else self.name


def read_domain(path: Path) -> list[Category]:
    """The user's categories: a line each, ``name`` or ``name: word, word``.

    ``#`` at a line's start or after a space begins a comment.

    Raises:
        InputError: It cannot be read, names none, or one twice, or has words without a name.
    """
    found = _parsed(lines(path), path)
    names = [category.name.lower() for category in found]
    if not found:
        raise InputError("names no category", where=str(path), hint="a line each: battery: charge, power")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"names the category {twice!r} twice", where=str(path))
    return found


def common_categories() -> list[Category]:
    """Categories of reviews at large: restaurants, hotels, devices, apps, shops, courses, clinics, places."""
    text = files("weft.absa.find").joinpath("categories.txt").read_text(encoding="utf-8")
    return _parsed(text.splitlines())


def _parsed(found: Iterable[str], path: Path | None = None) -> list[Category]:
    categories: list[Category] = []
    for number, line in enumerate(found, start=1):
        name, _, words = without_comment(line).partition(":")
        told = tuple(word.strip() for word in words.split(",") if word.strip())
        if told and not name.strip():
            raise InputError("has words but no category before the colon", where=f"{path} line {number}")
        if name.strip():
            categories.append(Category(name.strip(), told))
    return categories


class Grouping:
    """Puts terms into categories: by words that both have, else by what the frozen layers make of them.

    A term that holds a whole name or phrase of a category belongs to it, where it holds several to that of the most
    words, then to the last: "battery life" is of the battery, "night life" is not. Of a category's name one word is
    enough where no phrase is whole: "quality of the food" has "food".

    Args:
        asker: The model whose frozen layers read terms and categories.
        categories: The categories; the first that fits best wins.
    """

    def __init__(self, asker: Asker, categories: Sequence[Category]) -> None:
        self.categories = list(categories)
        self._asker = asker
        phrases = [(number, text) for number, c in enumerate(self.categories) for text in (c.name, *c.words)]
        self._owner = np.array([number for number, _ in phrases])
        self._stems = [(number, stems) for number, text in phrases if (stems := frozenset(_stems(text)))]
        self._named = [frozenset(_stems(category.name)) for category in self.categories]
        self._vectors = self._read([text for _, text in phrases])
        self._known: dict[str, str | None] = {}

    def __call__(self, terms: Iterable[str]) -> dict[str, str | None]:
        """The category's name of each term, None where none fits."""
        asked = list(dict.fromkeys(terms))
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        fresh = [term for term in asked if term not in self._known]
        unclear: list[str] = []
        for term in fresh:
            number = self._by_words(term)
            if number is None:
                unclear.append(term)
            else:
                self._known[term] = self.categories[number].name
        if unclear:
            likeness = self._read(unclear) @ self._vectors.T
            for term, row in zip(unclear, likeness, strict=True):
                best = int(row.argmax())
                fits = row[best] >= _LEAST
                self._known[term] = self.categories[self._owner[best]].name if fits else None
        return {term: self._known[term] for term in asked}

    def _by_words(self, term: str) -> int | None:
        """The category of the longest phrase that the term holds, else that has the last of its words in its name."""
        place = {stem: at for at, stem in enumerate(_stems(term))}
        held = [
            (len(stems), max(place[stem] for stem in stems), -number)
            for number, stems in self._stems
            if stems <= place.keys()
        ]
        if held:
            return -max(held)[2]
        named = [
            (place[stem], -number)
            for number, stems in enumerate(self._named)
            for stem in stems & place.keys()
        ]
        return -max(named)[1] if named else None

    def _read(self, texts: Sequence[str]) -> NDArray[np.float32]:
        module = self._asker.module
        assert isinstance(module, WeftAbsa)  # a Finder has no other
        ids, mask = self._asker.representation.rows(texts)
        vectors = module.read_words(ids.to(self._asker.device), mask.to(self._asker.device)).cpu().numpy()
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _stems(words: str) -> list[str]:
    """The words that say something, each without the ending of a plural."""
    return [_stem(word) for word in _WORDS.findall(shown(words).lower()) if word not in _LITTLE]


def _stem(word: str) -> str:
    """Without the ending of a plural."""
    for ending, instead in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("ss", "ss"),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + instead
    return word
