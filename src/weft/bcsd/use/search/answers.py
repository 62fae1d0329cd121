"""What a search answers: hits, each with how sure it is, and how sure it is that nothing of the index is it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from weft.bcsd.presence.features import Lead

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Functions with fewer blocks say too little about themselves: a hit of one is at most :data:`LOW` sure.
SMALL = 5
LOW = 0.25
#: How fast what is left of the confidence falls from one hit to the next, in scores.
_SPREAD = 0.05


class Hit(NamedTuple):
    """One function of the index."""

    rank: int
    score: float
    confidence: float
    name: str
    address: int
    size: int
    blocks: int
    binary: str
    architecture: str
    flags: list[str]
    library: str | None = None
    version: str | None = None
    package: str | None = None


class Answer(NamedTuple):
    """One function that was asked for, and its hits, best first.

    Args:
        not_here: How sure it is that no function of the index is this one; None where it is too small to say.
    """

    name: str
    address: int
    size: int
    blocks: int
    flags: list[str]
    not_here: float | None
    hits: list[Hit]


@dataclass(frozen=True, eq=False)
class Draft:
    """An answer before it is known how sure it is.

    Args:
        query: Its columns.
        rows: The best rows' columns, best first.
        scores: Theirs.
        copies: Which of them are the first again: the same code, or the same symbol.
        lead: The first hit; None where there is none.
    """

    query: dict[str, Any]
    rows: list[dict[str, Any]]
    scores: NDArray[np.floating]
    copies: NDArray[np.bool_]
    lead: Lead | None

    def answer(self, right: float, here: float) -> Answer:
        """With how sure the first hit is right, and how sure the function is there at all."""
        query = self.query
        shares = spread(right, here, self.scores, self.copies)
        hits = [
            self._hit(rank, row, score, share)
            for rank, (row, score, share) in enumerate(
                zip(self.rows, self.scores.tolist(), shares.tolist(), strict=True), 1
            )
        ]
        small = query["num_blocks"] < SMALL
        return Answer(
            query["name"],
            query["address"],
            query["size"],
            query["num_blocks"],
            [*query["flags"], *(["small"] if small else [])],
            None if small else round(1 - here, 3),
            hits,
        )

    def _hit(self, rank: int, row: dict[str, Any], score: float, share: float) -> Hit:
        small = min(row["num_blocks"], self.query["num_blocks"]) < SMALL
        return Hit(
            rank,
            round(score, 4),
            round(min(share, LOW) if small else share, 3),
            row["name"],
            row["address"],
            row["size"],
            row["num_blocks"],
            row["binary"],
            row["architecture"],
            [*row["flags"], *_remarks(self.query, row)],
            row.get("library"),
            row.get("version"),
            row.get("package"),
        )


def spread(
    right: float, here: float, scores: NDArray[np.floating], copies: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """How sure each hit is.

        p_j = p_right of the first and of its copies, else min(p_right, (p_here − p_right) · softmax_j(s / .05))

    Args:
        right: p_right.
        here: p_here.
        scores: s, ``(hits,)``.
        copies: Which of them are the first again.
    """
    ahead = scores.astype(np.float64) - scores.max(initial=0.0)
    others = np.where(copies, 0.0, np.exp(ahead / _SPREAD))
    left = max(here - right, 0.0) * others / (others.sum() or 1.0)
    return np.where(copies, right, np.minimum(left, right))


def sure_enough(answers: Iterator[Answer] | Sequence[Answer], least: float) -> Iterator[Answer]:
    """The answers without the hits that are less sure than ``least``."""
    for answer in answers:
        yield answer._replace(hits=[hit for hit in answer.hits if hit.confidence >= least])


def _remarks(query: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """What is to be said of a pair, beside what is known of the function itself."""
    remarks = []
    if row["digest"] == query["digest"]:
        remarks.append("same_bytes")
    elif row["token_digest"] == query["token_digest"]:
        remarks.append("same_tokens")
    if min(row["num_blocks"], query["num_blocks"]) < SMALL:
        remarks.append("low_confidence")
    return remarks
