"""How many terms ``weft absa find`` puts into the category that a reader would look for them under.

::

    python recipes/absa_any_grouped.py [FILE ...] [--model absa-any] [--categories FILE]

Files ``text,term,category``, ``own`` where a term stays a group of its own; both sets of ``examples/absa`` by default.
Four ways: *words, then the nearest* is what ``find`` did before (the longest phrase that the term holds, else the
category with the likest word from a cosine of .5 on); *likeness* are three cosines without the map; *alone* is the
whole, but the term stands in no sentence; *grouping* is what ``find`` does. ``--categories`` asks the first two with
another list, such as one of a user's, whose names must be those of the labels.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from absa_any_grouping import Labelled, read, words_of
from numpy.typing import NDArray

from weft.absa.find.domain import Category, Phrases, common_categories, read_domain
from weft.absa.find.grouping import Grouping, learnt
from weft.absa.use.asker import Asker
from weft.absa.use.store import load

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "absa"
SETS = tuple(EXAMPLES / f"terms-{name}.csv" for name in ("grouped", "two-senses"))
LEAST = 0.5


def words_then_nearest(group: Grouping, found: Labelled) -> NDArray[np.int64]:
    """By words, else by the likest phrase."""
    by_words = Phrases(group.categories)
    near = words_of(group).cosines(group.vectors(found.terms))[..., 0]
    best = np.where(near.max(axis=1) >= LEAST, near.argmax(axis=1), len(group.categories))
    told = [by_words(said.term) for said in found.terms]
    return np.array(
        [at if number is None else number for at, number in zip(best.tolist(), told, strict=True)]
    )


def ways(asker: Asker, categories: list[Category], found: Labelled) -> dict[str, NDArray[np.int64]]:
    """The category of each term in each way."""
    whole = Grouping(asker, categories)
    # Made for no list: the map is left out.
    plain = Grouping(asker, categories, replace(learnt(), of=learnt().of ^ 1))
    if categories == common_categories():
        bare = [said._replace(sentence=said.term, start=0, stop=len(said.term)) for said in found.terms]
        more = {
            "alone": whole.scores(whole.vectors(bare)).argmax(axis=1),
            "grouping": whole.scores(whole.vectors(found.terms)).argmax(axis=1),
        }
    else:
        number = {category.name: n for n, category in enumerate(categories)}
        none = len(categories)
        more = {
            "by words, then likeness": np.array([number.get(c or "", none) for c in whole(found.terms)]),
        }
    return {
        "words, then the nearest": words_then_nearest(whole, found),
        "likeness": plain.scores(plain.vectors(found.terms)).argmax(axis=1),
        **more,
    }


def main() -> None:
    """Print a row for each file and way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--model", default="absa-any")
    parser.add_argument("--categories", type=Path)
    arguments = parser.parse_args()
    asker = load(arguments.model)
    categories = read_domain(arguments.categories) if arguments.categories else common_categories()
    print(f"{'':18}{'':26}{'terms':>6}{'right':>7}{'given':>7}{'right of these':>16}{'own kept':>10}")
    for path in arguments.files or SETS:
        found = read(path, categories)
        own = found.gold == len(categories)
        for name, answer in ways(asker, categories, found).items():
            right, given = answer == found.gold, answer < len(categories)
            print(
                f"{path.stem:18}{name:26}{len(right):6d}{right.mean():7.3f}{given.mean():7.2f}"
                f"{right[given].mean():16.3f}{right[own].mean():10.2f}"
            )


if __name__ == "__main__":
    main()
