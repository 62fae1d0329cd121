"""Opinions by term and category: ACOS quadruples (JSON lines) and M-ABSA (``text####[[term, category, polarity], …]``).

Sources: Cai, Xia and Yu 2021, "Aspect-Category-Opinion-Sentiment Quadruple Extraction with Implicit Aspects and
Opinions"; Wu et al. 2025, "M-ABSA: A Multilingual Dataset for Aspect-Based Sentiment Analysis".
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.absa.read.reviews import Opinion, Review, Reviews, category_words, polarity_of, read_lines
from weft.absa.records import Problems, is_blank, is_utf8
from weft.errors import InputError
from weft.platform.reading import parse_json


def read_acos(path: Path, domain: str) -> Reviews:
    """Read ACOS quadruples: ``{"text", "labels": [{"aspect", "category", "polarity", …}]}``, one a line.

    Raises:
        InputError: It cannot be read, or no line can be used.
    """

    def parse(line: str) -> tuple[str, list[Opinion]]:
        entry = parse_json(line, "the line")
        if not isinstance(entry, dict) or not isinstance(entry.get("labels"), list):
            raise InputError("not an object with labels")
        labels = [label if isinstance(label, dict) else {} for label in entry["labels"]]
        found = [
            _opinion(*(label.get(name) for name in ("aspect", "category", "polarity", "opinion")))
            for label in labels
        ]
        return entry.get("text", ""), found

    return _read(path, domain, parse)


def read_mabsa(path: Path, domain: str | None = None) -> Reviews:
    """Read an M-ABSA file; the domain is the file's name up to the dash where none is given.

    Raises:
        InputError: It cannot be read, or no line can be used.
    """

    def parse(line: str) -> tuple[str, list[Opinion]]:
        text, mark, labels = line.rpartition("####")
        if not mark:
            raise InputError("no #### between text and labels")
        try:
            entries: Any = ast.literal_eval(labels.strip())
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
            raise InputError("the labels are no list") from error
        if not isinstance(entries, list) or not all(isinstance(e, list) and len(e) == 3 for e in entries):
            raise InputError("the labels are no list of [term, category, polarity]")
        return text, [_opinion(*entry) for entry in entries]

    return _read(path, domain or path.name.split("-")[0], parse)


def _read(path: Path, domain: str, parse: Callable[[str], tuple[str, list[Opinion]]]) -> Reviews:
    reviews: list[Review] = []
    problems = Problems()
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{path.name} line {number}"
        try:
            text, opinions = parse(line)
            if not isinstance(text, str) or is_blank(text):
                raise InputError("no text")
            if not is_utf8(text):
                raise InputError("the text is not UTF-8")
            reviews.append(Review(text.strip(), tuple(opinions), domain, True, where))
        except InputError as error:
            problems.add(where, error.what)
    if not reviews:
        shown = f"; the first problem: {problems.shown[0]}" if problems.shown else ""
        raise InputError(f"no usable line{shown}", where=str(path))
    return Reviews(tuple(reviews), problems)


def _opinion(term: object, category: object, polarity: object, judging: object = None) -> Opinion:
    if not isinstance(category, str) or not category.strip():
        raise InputError(f"category {category!r}; it must be words")
    for words in (term, category, judging):
        if isinstance(words, str) and not is_utf8(words):
            raise InputError(f"{words!r} is not UTF-8")
    return Opinion(polarity_of(polarity), _words(term), category_words(category), _words(judging))


def _words(found: object) -> str | None:
    """Words of the text; None where the source says that it is not named."""
    words = found.strip() if isinstance(found, str) else ""
    return None if words in ("", "NULL") else words
