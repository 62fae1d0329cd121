"""Three lines each: the text with ``$T$`` in the term's place, the term, its polarity.

Source: the collection of ABSADatasets, whose sets (televisions, T-shirts, courses, apps, tweets) have this form.
"""

from __future__ import annotations

from pathlib import Path

from weft.absa.read.reviews import Opinion, Review, Reviews, agreed, polarity_of, read_lines
from weft.absa.records import Problems
from weft.errors import InputError

_PLACE = "$T$"


def read_three_lines(path: Path, domain: str) -> Reviews:
    """Read a file of three-line records; records of one text become one review.

    A term that one text judges in two ways is left out of its review.

    Raises:
        InputError: It cannot be read, or holds no usable record.
    """
    lines = read_lines(path)
    problems = Problems()
    if len(lines) % 3:
        problems.add(f"{path.name} line {len(lines)}", "the last record has no three lines")
    texts: dict[str, list[tuple[str, str]]] = {}
    places: dict[str, str] = {}
    for first in range(0, len(lines) - 2, 3):
        where = f"{path.name} line {first + 1}"
        try:
            text, term, polarity = _record(*lines[first : first + 3])
        except InputError as error:
            problems.add(where, error.what)
            continue
        texts.setdefault(text, []).append((term, polarity))
        places.setdefault(text, where)
    reviews: list[Review] = []
    for text, pairs in texts.items():
        single, split = agreed(pairs)
        for term in sorted(split):
            problems.add(places[text], f"two polarities for {term!r}")
        opinions = tuple(Opinion(polarity, term) for term, polarity in single.items())
        if opinions:
            reviews.append(Review(text, opinions, domain, False, places[text]))
    if not reviews:
        shown = f"; the first problem: {problems.shown[0]}" if problems.shown else ""
        raise InputError(f"no usable record{shown}", where=str(path))
    return Reviews(tuple(reviews), problems)


def _record(text: str, term: str, polarity: str) -> tuple[str, str, str]:
    term = term.strip()
    if _PLACE not in text:
        raise InputError(f"no {_PLACE} in the text")
    if not term:
        raise InputError("no term")
    return " ".join(text.replace(_PLACE, term).split()), term, polarity_of(polarity)
