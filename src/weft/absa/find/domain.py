"""Categories in words, common ones and a user's, and which of them a term names by its own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from weft.absa.read.given import without_comment
from weft.absa.represent.spelling import shown
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
    return domain_of(lines(path), str(path))


def domain_of(given: Iterable[str], where: str | None = None) -> list[Category]:
    """The categories of such lines.

    Args:
        given: The lines.
        where: What they stand in, for messages.

    Raises:
        InputError: They name none, or one twice, or have words without a name.
    """
    found = _parsed(given, where)
    names = [category.name.lower() for category in found]
    if not found:
        raise InputError("names no category", where=where, hint="a line each: battery: charge, power")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"names the category {twice!r} twice", where=where)
    return found


def common_categories() -> list[Category]:
    """Categories of reviews at large: restaurants, hotels, devices, apps, shops, courses, clinics, places."""
    text = files("weft.absa.find").joinpath("categories.txt").read_text(encoding="utf-8")
    return _parsed(text.splitlines())


def _parsed(found: Iterable[str], where: str | None = None) -> list[Category]:
    categories: list[Category] = []
    for number, line in enumerate(found, start=1):
        name, _, words = without_comment(line).partition(":")
        told = tuple(word.strip() for word in words.split(",") if word.strip())
        if told and not name.strip():
            raise InputError("has words but no category before the colon", where=f"{where} line {number}")
        if name.strip():
            categories.append(Category(name.strip(), told))
    return categories


class Phrases:
    """Which category a term belongs to by words that both have.

    A term that holds a whole name or phrase of a category belongs to it, where it holds several to that of the most
    words, then to the last: "battery life" is of the battery, "night life" is not. Of a category's name one word is
    enough where no phrase is whole: "quality of the food" has "food".

    Args:
        categories: The categories; the first that fits best wins.
    """

    def __init__(self, categories: Sequence[Category]) -> None:
        phrases = [(number, text) for number, c in enumerate(categories) for text in (c.name, *c.words)]
        self._stems = [(number, held) for number, text in phrases if (held := frozenset(_stems(text)))]
        self._named = [frozenset(_stems(category.name)) for category in categories]

    def __call__(self, term: str) -> int | None:
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

    def held(self, text: str) -> set[int]:
        """The categories of which a whole name or phrase stands in a text."""
        words = set(_stems(text))
        return {number for number, stems in self._stems if stems <= words}


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
