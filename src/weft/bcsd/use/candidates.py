"""What is kept of the candidates of many queries until all have been looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.presence.features import Terms
from weft.bcsd.represent.calls import calls_of
from weft.bcsd.represent.operations import COLUMN as OPERATIONS
from weft.bcsd.represent.rows import OPERATIONS as INLINED_OPERATIONS
from weft.bcsd.represent.rows import TOKENS as INLINED_TOKENS
from weft.bcsd.use.agreement import agreement

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Columns that scores are made of: once these are known, nobody needs them.
_SCORED = (
    "embedding",
    "lexical_tokens",
    "lexical_values",
    OPERATIONS,
    INLINED_OPERATIONS,
    INLINED_TOKENS,
    "inlined_values",
)


class Looked(NamedTuple):
    """The candidates of one query.

    Args:
        ids: Their row ids.
        places: Theirs in :class:`Seen`.
        scores: Corrected for hubs.
        terms: What the scores are made of; None where there is no candidate.
    """

    ids: NDArray[np.uint64]
    places: NDArray[np.int64]
    scores: NDArray[np.float32]
    terms: Terms | None


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


def agreements(
    queries: pa.Table, looked: Sequence[Looked], rows: pa.Table | None
) -> list[NDArray[np.float32] | float]:
    """How well the calls of each query and of its candidates agree: see :func:`weft.bcsd.use.agreement.agreement`.

    Args:
        queries: The functions of one file, with what they call.
        looked: The candidates of each.
        rows: All candidates, by their places.

    Returns:
        Of each query ``(candidates,)``; 0 where either side does not say what it calls.
    """
    asked, there = calls_of(queries), None if rows is None else calls_of(rows)
    if rows is None or asked is None or there is None:
        return [0.0] * len(looked)
    ends = np.concatenate([[0], np.cumsum([len(one.places) for one in looked])])
    places = np.concatenate([one.places for one in looked])
    scores = np.concatenate([one.scores for one in looked])
    table = sparse.csr_matrix((scores, places, ends), shape=(len(looked), rows.num_rows))
    found = agreement(table, asked, there)
    return list(np.split(found, ends[1:-1]))
