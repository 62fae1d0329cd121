"""How crowded the places of functions of an index are, by some that stand for all of it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from weft.bcsd.presence.features import crowd
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.represent.rows import Rows
from weft.bcsd.use.embedded import embeddings_of, lexical_of
from weft.bcsd.use.score import ScoreWeights, joined

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

#: Functions whose surroundings are kept in mind, at most.
REMEMBERED = 1 << 18
#: With so few rows the others are multiplied as they are: to make them dense takes longer.
_FEW = 64


class Surroundings:
    """The references, and what is known of how near functions are to them.

    A function's scores with them depend on no query, so they are computed when it is first a candidate.

    Args:
        sample: The references.
        weights: Of the hybrid score.
    """

    def __init__(self, sample: pa.Table, weights: ScoreWeights) -> None:
        self._weights = weights
        self._embeddings = embeddings_of(sample)
        self._lexical = Features(lexical_of(sample))
        self._operations = Features(operation_rows(sample))
        self._digests = np.array(sample["token_digest"].to_pylist(), dtype=object)
        self._crowd = np.zeros(0)
        self._places: dict[int, int] = {}

    @property
    def lifted(self) -> bool:
        """Whether it is known of any what it computes."""
        return bool(self._operations.present.any())

    def unknown(self, ids: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Those of some functions that must be learnt before :meth:`of` can say of all how crowded their places are."""
        if len(self._places) + len(ids) > REMEMBERED:
            self._places.clear()
        return ids[[row_id not in self._places for row_id in ids.tolist()]]

    def of(self, ids: NDArray[np.uint64]) -> NDArray[np.float64]:
        """How crowded the places of some functions are: :func:`weft.bcsd.presence.features.crowd`, ``(functions,)``.

        Args:
            ids: Row ids, of which none is unknown.
        """
        return self._crowd[[self._places[row_id] for row_id in ids.tolist()]]

    def learn(self, ids: NDArray[np.uint64], rows: pa.Table) -> None:
        """Look at functions that are unknown.

        Args:
            ids: Row ids, each once.
            rows: Theirs.
        """
        scores = self._scores(rows, lexical_of(rows), operation_rows(rows))
        first = len(self._places)
        if first + len(ids) > len(self._crowd):
            size = max(2 * len(self._crowd), first + len(ids), 1024)
            self._crowd = np.resize(self._crowd, size)
        digests = np.array(rows["token_digest"].to_pylist(), dtype=object)
        self._crowd[first : first + len(ids)] = crowd(scores, self._digests, digests)
        self._places.update(zip(ids.tolist(), range(first, first + len(ids)), strict=True))

    def _scores(self, rows: pa.Table, lexical: Rows, computed: Rows) -> NDArray[np.float32]:
        """Plain scores, ``(references, rows)``."""
        share = self._weights.lexical
        scores = self._embeddings @ embeddings_of(rows).T
        if share:
            scores = (scores + share * self._lexical.products(lexical)) / (1 + share)
        lifted = np.outer(self._operations.present, computed.present)
        return joined(scores, self._operations.products(computed), lifted, self._weights)


class Features:
    """Rows that other rows are multiplied with, again and again: :meth:`weft.bcsd.represent.rows.Rows.products`.

    Args:
        rows: Those that stay.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        #: Which rows have any feature.
        self.present: NDArray[np.bool_] = rows.present

    @cached_property
    def _own(self) -> _Dense:
        return _Dense(self._rows.own)

    @cached_property
    def _blended(self) -> _Dense:
        return _Dense(self._rows.blended) if self._rows.known.any() else self._own

    def products(self, others: Rows) -> NDArray[np.float32]:
        """Each row with each other row, ``(rows, others)``."""
        if len(others) < _FEW:
            return self._rows.products(others)
        both = np.outer(self._rows.known, others.known)
        if both.all() and both.size:
            return self._blended.products(others.blended)
        alone = self._own.products(others.own)
        return np.where(both, self._blended.products(others.blended), alone) if both.any() else alone


class _Dense:
    """Sparse rows, those of the features that occur kept dense, ``(features, rows)``: some ten times as fast.

    Args:
        rows: ``(rows, features)``.
    """

    def __init__(self, rows: sparse.csr_matrix) -> None:
        held = np.unique(rows.indices)
        self._place = np.full(rows.get_shape()[1], -1, np.int32)
        self._place[held] = np.arange(len(held), dtype=np.int32)
        self._dense = np.ascontiguousarray(rows[:, held].T.toarray(), np.float32)

    def products(self, others: sparse.csr_matrix) -> NDArray[np.float32]:
        """Each row with each other row, ``(rows, others)``."""
        columns = self._place[others.indices]
        kept = columns >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[others.indptr]
        shape = (len(ends) - 1, len(self._dense))
        narrow: Any = sparse.csr_matrix((others.data[kept], columns[kept], ends), shape=shape)
        return (narrow @ self._dense).T
