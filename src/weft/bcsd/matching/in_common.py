"""How much two files have in common, and whether that is no more than unrelated programs have.

    s = Σ_ij p_ij · min(n_i, n_j) / min(Σ_i n_i, Σ_j n_j)

over the pairs that were found, with p the confidence and n the instructions: the expected share of the smaller file's
code that the other one has, too. What compilers and C libraries put into every program is short: it counts for little.

Of small files that share says nothing by itself: `main` is most of their code, and is `main` in any program. There the
likeness of all pairs tells (:func:`weft.bcsd.matching.pairs.relation.relation`).

Where one file holds a part of the other (a library in a static program that uses a third of it), share and likeness are
as low as in unrelated files: most pairs are wrong, and the right ones are little sure. A few that are no start-up code
are counted all the same, which unrelated files hardly ever have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.bcsd.matching.pairs.relation import beside_start_up
from weft.bcsd.matching.rule import FEATURES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from weft.bcsd.matching.match import Matching
    from weft.bcsd.matching.side import Side

#: A smaller share than this is what unrelated programs have.
LITTLE = 0.03
#: Pairs less sure than this are chance.
COUNTED = 0.2
#: Functions of the smaller file from which on a share tells anything: of few, the only likely one may go unmatched.
FEWEST = 20
#: Pairs at least so sure, and so alike, are of common code: `main` is paired by what calls it, too.
SURE, ALIKE = 0.8, 0.5
#: So many pairs that count, of no start-up code and of this many instructions, are more than unrelated files have.
PART, LONG = 3, 8
#: Files are unrelated where they have anything in common with a smaller probability, by how alike their pairs are.
UNLIKE = 0.1


@dataclass(frozen=True)
class InCommon:
    """What two files share.

    Args:
        share: s, 0 to 1.
        pairs: How many pairs that is of.
        runtime: How many of these are what compilers and C libraries put into every program, by a name or by the place
            from which they are called (:attr:`weft.bcsd.matching.side.Side.runtime`).
        judged: Whether that tells anything: the smaller file has functions enough, and confidences are probabilities.
        sure: The share in pairs at least :data:`SURE` and :data:`ALIKE`, but those of start-up code.
        related: How probable it is, by how alike the pairs are, that there is anything; None where that is not known.
        apart: How many of the pairs are of functions of at least :data:`LONG` instructions that are no start-up code.
    """

    share: float
    pairs: int
    runtime: int
    judged: bool
    sure: float = 0.0
    related: float | None = None
    apart: int = 0

    @property
    def unrelated(self) -> bool | None:
        """Whether they share no more than unrelated programs do; None where that cannot be told."""
        if self._little:
            return None if self.part else True
        told = self.judged or (self.related is not None and self.related > 1 - UNLIKE)
        return False if told else None

    @property
    def part(self) -> bool:
        """Whether they share little, and yet more than unrelated programs do: one may hold a part of the other."""
        return self._little and self.apart >= PART

    @property
    def _little(self) -> bool:
        return self._unlike or (self.judged and self.share < LITTLE)

    @property
    def _unlike(self) -> bool:
        return self.related is not None and self.related < UNLIKE and self.sure < LITTLE

    def said(self) -> str:
        """That in a sentence, where they are unrelated or cannot be told from such files; empty otherwise."""
        if self.part:
            return (
                f"one file may hold a part of the other: {self.apart} pairs beside start-up code are at least "
                f"{100 * COUNTED:.0f} % sure, in unrelated files hardly any is. A search tells more of them: put the "
                "larger file into an index (`weft bcsd index add`), and ask it for the functions of the smaller one "
                "(`weft bcsd search`)"
            )
        if self.unrelated is None and self.related is not None:
            return "too few functions to tell whether the two files have anything in common"
        if not self.unrelated:
            return ""
        start = f", {self.runtime} of them start-up code that every program has" if self.runtime else ""
        found = f"{self.pairs} pair{'s' * (self.pairs != 1)}{start}" if self.pairs else "no pair"
        if self.share >= LITTLE:
            return (
                f"the two files have next to nothing in common: {found}, and all in all no more alike than those of "
                "unrelated programs"
            )
        return (
            f"the two files have next to nothing in common: {found}, {100 * self.share:.1f} % of the smaller one's "
            "code, as unrelated programs have"
        )

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "share": round(self.share, 4),
            "pairs": self.pairs,
            "runtime": self.runtime,
            "unrelated": self.unrelated,
            "said": self.said(),
        }


def in_common(matching: Matching) -> InCommon:
    """What the files of a matching share; the same whatever floor its matches were cut at."""
    pairs = matching.pairs
    counted = pairs.confidence >= COUNTED
    found = _shared(matching, counted)
    if not matching.calibrated:
        return replace(found, judged=False)
    alike = pairs.features[:, FEATURES.index("likeness")] >= ALIKE
    own = beside_start_up(matching.a, matching.b, pairs.rows, pairs.columns)
    sure = _shared(matching, (pairs.confidence >= SURE) & alike & own)
    return replace(found, sure=sure.share, related=pairs.related, apart=_apart(matching, counted))


def _apart(matching: Matching, chosen: NDArray[np.bool_]) -> int:
    a, b = matching.a, matching.b
    rows, columns = matching.pairs.rows[chosen], matching.pairs.columns[chosen]
    lengths = np.minimum(a.num_instructions[rows], b.num_instructions[columns])
    pairs = zip(rows.tolist(), columns.tolist(), lengths.tolist(), strict=True)
    return sum(n >= LONG and i not in a.runtime and j not in b.runtime for i, j, n in pairs)


def _shared(matching: Matching, chosen: NDArray[np.bool_]) -> InCommon:
    pairs = matching.pairs
    columns = pairs.columns[chosen]
    return shared(matching.a, matching.b, pairs.rows[chosen], columns, pairs.confidence[chosen])


def shared(
    a: Side,
    b: Side,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    confidence: NDArray[np.float64],
) -> InCommon:
    """What two files share.

    Args:
        a: File A.
        b: File B.
        rows: Functions of A that have a partner.
        columns: Their partners in B.
        confidence: Of each pair.
    """
    both = (confidence * np.minimum(a.num_instructions[rows], b.num_instructions[columns])).sum()
    smaller = min(int(side.num_instructions.sum()) for side in (a, b))
    named = zip(rows.tolist(), columns.tolist(), strict=True)
    runtime = sum(i in a.runtime or j in b.runtime for i, j in named)
    return InCommon(
        min(float(both) / max(smaller, 1), 1.0), len(rows), runtime, min(len(a), len(b)) >= FEWEST
    )
