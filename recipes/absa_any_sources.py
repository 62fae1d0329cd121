"""The reviews that ``absa-any`` is trained on, and those that may choose because it is not.

MAMS splits its sentences for terms (ATSA) and for categories (ACSA) apart: most of what one of the two holds out the
other one trains on. ACOS and M-ABSA hold the same SemEval sentences. So what chooses is compared by its letters.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import Random

from weft.absa.read.mams import read_mams
from weft.absa.read.quadruples import read_acos, read_mabsa
from weft.absa.read.reviews import Review, Reviews
from weft.absa.read.three_lines import read_three_lines

COLLECTION = {
    "apps": "kaggle",
    "courses": "mooc",
    "televisions": "television",
    "t-shirts": "tshirt",
    "tweets": "twitter",
}
DOMAINS = ("restaurants", "laptops", *COLLECTION, "places")
"""What ``--without`` names; ``places`` is SentiHood."""
LONG = 220
"""Characters of a text that is too long to train on: it would pad its batch."""


def sources(data: Path) -> list[Reviews]:
    """Every source that may be trained on, whole."""
    mams, others = data / "absa/mams", data / "absa/absadatasets"
    return [
        read_mams(mams / "ATSA-train.xml"),
        read_mams(mams / "ACSA-train.xml"),
        read_acos(others / "acos-laptop_quad_train.tsv.jsonl", "laptops"),
        read_acos(others / "acos-rest16_quad_train.tsv.jsonl", "restaurants"),
        *(read_three_lines(others / f"{file}-train.seg", domain) for domain, file in COLLECTION.items()),
    ]


def reviews_of(
    data: Path, without: set[str], share: float, tweets: float, seed: int
) -> tuple[list[Review], list[Review]]:
    """The reviews to train on, and those left over: none whose text is measured on, a part of the tweets."""
    measured = measured_texts(data)
    random = Random(seed)
    found: list[Review] = []
    left: list[Review] = []
    for source in sources(data):
        for line in source.problems.lines():
            print(line, flush=True)
        usable = [r for r in source.reviews if r.domain not in without and len(r.text) < LONG]
        kept = [r for r in usable if plain(r.text) not in measured]
        part = share * (tweets if source.reviews[0].domain == "tweets" else 1)
        random.shuffle(kept)
        found += kept[: round(part * len(kept))]
        left += kept[round(part * len(kept)) :]
    return found, left


def plain(text: str) -> str:
    """The letters and digits of a text: two sources may space and quote it otherwise."""
    return "".join(character for character in text.lower() if character.isalnum())


@cache
def measured_texts(data: Path) -> frozenset[str]:
    """The letters of every text of M-ABSA dev."""
    files = (data / "absa/mabsa").glob("*-dev.txt")
    return frozenset(plain(review.text) for path in files for review in read_mabsa(path).reviews)


def not_measured(reviews: Iterable[Review], data: Path) -> list[Review]:
    """The reviews whose text is not in M-ABSA dev."""
    return [review for review in reviews if plain(review.text) not in measured_texts(data)]


@cache
def _trained_texts(data: Path) -> frozenset[str]:
    return frozenset(plain(review.text) for source in sources(data) for review in source.reviews)


def unseen(reviews: Iterable[Review], data: Path) -> list[Review]:
    """The reviews whose text is in no source that is trained on, and not in M-ABSA dev."""
    return [r for r in not_measured(reviews, data) if plain(r.text) not in _trained_texts(data)]


def held_out(data: Path) -> list[Review]:
    """Reviews with categories that MAMS holds out, of those :func:`unseen`."""
    return unseen(read_mams(data / "absa/mams/ACSA-val.xml").reviews, data)
