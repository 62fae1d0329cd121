"""How well terms are found: exact words, and exact words with their polarity."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from weft.absa.find.finder import Finder
from weft.absa.read.reviews import Review


def term_scores(finder: Finder, reviews: Sequence[Review]) -> dict[str, float]:
    """Precision, recall and F1 over all texts, of terms and of terms with their polarity.

    A term counts once in a text, in any letter case and spacing; judgements without a term are left out.

    Args:
        finder: What finds.
        reviews: Gold.
    """
    found = finder.find([review.text for review in reviews])
    pairs = [
        (
            {(_plain(o.term), o.polarity) for o in review.opinions if o.term},
            {(_plain(f.term), f.polarity) for f in findings if f.term},
        )
        for review, findings in zip(reviews, found, strict=True)
    ]
    terms = [({term for term, _ in gold}, {term for term, _ in told}) for gold, told in pairs]
    return {
        **{f"term_{name}": value for name, value in _scores(terms).items()},
        **{f"pair_{name}": value for name, value in _scores(pairs).items()},
        "terms": float(sum(len(gold) for gold, _ in terms)),
    }


def _scores(pairs: Sequence[tuple[Set[Any], Set[Any]]]) -> dict[str, float]:
    right = sum(len(gold & told) for gold, told in pairs)
    told, gold = sum(len(told) for _, told in pairs), sum(len(gold) for gold, _ in pairs)
    precision, recall = right / max(told, 1), right / max(gold, 1)
    return {"precision": precision, "recall": recall, "f1": 2 * right / max(told + gold, 1)}


def _plain(words: str) -> str:
    return " ".join(words.lower().split())
