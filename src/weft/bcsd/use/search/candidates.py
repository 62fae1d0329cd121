"""What is kept of the candidates of many queries until all have been looked up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.presence.features import Terms
from weft.bcsd.represent.calls import Calls, calls_of
from weft.bcsd.table import CALLED
from weft.bcsd.use.embedded import VECTORS
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.search.agreement import AGAIN, agreement, without_hubs_among

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Columns that scores are made of: once these are known, nobody needs them.
_SCORED = set(VECTORS) - set(CALLED)


class Looked(NamedTuple):
    """The candidates of one query.

    Args:
        ids: Their row ids.
        places: Theirs in :class:`Seen`.
        terms: What their scores are made of; None where there is no candidate.
    """

    ids: NDArray[np.uint64]
    places: NDArray[np.int64]
    terms: Terms | None

    @property
    def plain(self) -> NDArray[np.float32]:
        """Their plain scores."""
        return np.zeros(0, np.float32) if self.terms is None else self.terms.plain


class Judged(NamedTuple):
    """What is said of the candidates of one query.

    Args:
        scores: What they are ordered by.
        agreement: How well the calls agree.
    """

    scores: NDArray[np.float32]
    agreement: NDArray[np.float32]


class Seen:
    """The rows of an index that are candidates of any query, each once, without what scores are made of."""

    def __init__(self) -> None:
        self._place: dict[int, int] = {}
        self._parts: list[pa.Table] = []
        self._whole: pa.Table | None = None

    def places(self, ids: NDArray[np.uint64], rows: pa.Table) -> NDArray[np.int64]:
        """Where these rows stand; those that are new are put behind the others.

        Args:
            ids: Of the rows.
            rows: In that order.
        """
        new = [number for number, row in enumerate(ids.tolist()) if row not in self._place]
        for number in new:
            self._place[int(ids[number])] = len(self._place)
        if new:
            kept = [name for name in rows.column_names if name not in _SCORED]
            self._parts.append(rows.select(kept).take(pa.array(new)))
            self._whole = None
        return np.array([self._place[row] for row in ids.tolist()], np.int64)

    def rows(self) -> pa.Table | None:
        """All of them, by their places; None where there is none."""
        if self._whole is None and self._parts:
            self._whole = pa.concat_tables(self._parts).combine_chunks()
        return self._whole

    def some(self, places: NDArray[np.int64]) -> pa.Table:
        """The rows at these places."""
        rows = self.rows()
        return pa.table({}) if rows is None else rows.take(pa.array(places))


def judged(
    table: sparse.csr_matrix, queries: Calls | None, base: Calls | None, weights: ScoreWeights
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scores of the functions of a file with their candidates, corrected for hubs, and how well the calls agree.

        t_ij = s'_ij + c · D_ij        s''_ij = t_ij corrected for hubs again, by h' = AGAIN

    What is near to many functions of the file is no good answer for one of them. Functions of the index cannot stand
    for those of the file in that: between two processors all scores are lower, and whoever has kin in the index would
    lose most.

    Args:
        table: s, ``(queries, base)``.
        queries: What the queries call; None where that is not known.
        base: What the functions of the base call.
        weights: h, k and c.

    Returns:
        s'' and D, in the order of ``table.data``.
    """
    scores = without_hubs_among(table, weights)
    if not weights.calls or queries is None or base is None:
        return scores, np.zeros(len(scores), np.float32)
    agreed = agreement(_with(table, scores), queries, base)
    better = (scores + weights.calls * agreed).astype(np.float32)
    return without_hubs_among(_with(table, better), replace(weights, hubness=AGAIN)), agreed


def _with(table: sparse.csr_matrix, values: NDArray[np.float32]) -> sparse.csr_matrix:
    """The same entries, other values."""
    return sparse.csr_matrix((values, table.indices, table.indptr), table.get_shape())


def judge(
    queries: pa.Table, looked: Sequence[Looked], rows: pa.Table | None, weights: ScoreWeights
) -> list[Judged]:
    """:func:`judged` for the queries of a search.

    Args:
        queries: The functions of one file.
        looked: The candidates of each.
        rows: All candidates, by their places.
        weights: Of the score.
    """
    if rows is None:
        return [alone(one) for one in looked]
    ends = np.concatenate([[0], np.cumsum([len(one.places) for one in looked])])
    places = np.concatenate([one.places for one in looked])
    plain = np.concatenate([one.plain for one in looked])
    table = sparse.csr_matrix((plain, places, ends), shape=(len(looked), rows.num_rows))
    found = judged(table, calls_of(queries), calls_of(rows), weights)
    return [Judged(*parts) for parts in zip(*(np.split(part, ends[1:-1]) for part in found), strict=True)]


def alone(looked: Looked) -> Judged:
    """A query that is asked for by itself: its scores as they are."""
    return Judged(looked.plain, np.zeros(len(looked.plain), np.float32))
