"""What is to be doubted of the hits of a whole file: in an index of few libraries all functions are near to one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from weft.bcsd.read.members import file_of
from weft.bcsd.use.search.answers import Answer, Hit

#: Of so many functions that are nearest to a library fewer than this share, at least half sure, may be chance.
MANY, FEW, HALF = 50, 0.1, 0.5


class Near(NamedTuple):
    """The functions of a file that are nearest to a library.

    Args:
        functions: How many.
        sure: How many of them have a hit that is at least half sure.
    """

    functions: int
    sure: int

    @property
    def few(self) -> bool:
        """Few of many are sure: how sure hits are looks at how many are, so chance adds up."""
        return self.functions >= MANY and self.sure < FEW * self.functions

    def may_be_chance(self, what: str) -> str:
        """The remark on it."""
        return (
            f"{what} may be chance: of {self.functions:,} functions that are nearest to it "
            f"{self.sure:,} are at least half sure (compare them, ask an index of more libraries, or make an index of "
            "this file and ask it for the library's functions)"
        )


def nearest(answers: Iterable[Answer]) -> Mapping[str, Near]:
    """How many functions are nearest to each library; to each file, where the index names no libraries.

    Args:
        answers: Of the functions of one file.
    """
    near: Counter[str] = Counter()
    sure: Counter[str] = Counter()
    for answer in answers:
        if answer.hits:
            source = _source(answer.hits[0])
            near[source] += 1
            sure[source] += answer.hits[0].confidence >= HALF
    return {source: Near(count, sure[source]) for source, count in near.most_common()}


def doubts(answers: Iterable[Answer]) -> tuple[str, ...]:
    """Remarks on libraries whose hits look sure, and of which few functions near to them have such a hit.

    Args:
        answers: Of the functions of one file.
    """
    return tuple(
        near.may_be_chance(f"what is found of {source}")
        for source, near in nearest(answers).items()
        if near.sure and near.few
    )


def _source(hit: Hit) -> str:
    return hit.library or file_of(hit.binary)
