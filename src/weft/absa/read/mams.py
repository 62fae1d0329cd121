"""MAMS: restaurant sentences that judge several things differently, by terms (ATSA) or eight categories (ACSA).

Source: Jiang et al. 2019, "A Challenge Dataset and Effective Models for Aspect-Based Sentiment Analysis".
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from weft.absa.read.elements import elements
from weft.absa.read.reviews import Opinion, Review, Reviews, category_words, polarity_of
from weft.absa.records import Problems
from weft.errors import InputError


def read_mams(path: Path, domain: str = "restaurants") -> Reviews:
    """Read a MAMS file, of terms or of categories.

    Raises:
        InputError: It cannot be read, or is not XML with ``<sentence>`` elements.
    """
    reviews: list[Review] = []
    problems, found = Problems(), 0
    for element in elements(path):
        if element.tag != "sentence":
            continue
        found += 1
        where = f"{path.name} sentence {found}"
        try:
            reviews.append(_review(element, domain, where))
        except InputError as error:
            problems.add(where, error.what)
    return Reviews(tuple(reviews), problems)


def _review(element: Element, domain: str, where: str) -> Review:
    text = (element.findtext("text") or "").strip()
    if not text:
        raise InputError("no text")
    opinions: list[Opinion] = []
    for term in element.iter("aspectTerm"):
        words = (term.get("term") or "").strip()
        if not words or words not in text:
            raise InputError(f"the aspect term {words!r} is not in the text")
        opinions.append(Opinion(polarity_of(term.get("polarity")), term=words))
    categories = list(element.iter("aspectCategory"))
    for category in categories:
        name = (category.get("category") or "").strip()
        if not name:
            raise InputError("a category without a name")
        opinions.append(Opinion(polarity_of(category.get("polarity")), category=category_words(name)))
    if not opinions:
        raise InputError("nothing is judged: neither terms nor categories")
    return Review(text, tuple(opinions), domain, bool(categories), where)
