"""Searching an index: candidates by cosine, put in order by the hybrid score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from weft.bcsd.index.store import EXACT_ROWS, FunctionStore
from weft.bcsd.index.update import check_model, in_step
from weft.bcsd.lift.choose import lifter_named
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.use.confidence import Confidence
from weft.bcsd.use.embed_files import Embedding, embed_one, embedder_of
from weft.bcsd.use.embedded import VECTORS, embeddings_of, lexical_of
from weft.bcsd.use.remarks import NOT_LIFTED
from weft.bcsd.use.score import ScoreWeights, combined, with_operations, without_hubs
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: So many of the nearest by cosine are put in order by the hybrid score.
CANDIDATES = 200
#: So many functions of the index stand for all that may be asked, for the hubness correction.
REFERENCE = 512
#: Functions with fewer blocks say too little about themselves.
SMALL = 5
#: The largest score of two functions whose bytes differ.
HIGHEST = 0.9999
_CHUNK = 64


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


class Answer(NamedTuple):
    """One function that was asked for, and its hits, best first."""

    name: str
    address: int
    size: int
    blocks: int
    flags: list[str]
    hits: list[Hit]


@dataclass(frozen=True, eq=False)
class Reference:
    """Functions of the index that stand for the queries of the hubness correction.

    Args:
        embeddings: ``(references, dimension)``.
        lexical: ``(features, references)``, dense: a sparse matrix times this is some ten times as fast as
            times a sparse one.
        operations: ``(references, features)``.
    """

    embeddings: NDArray[np.float32]
    lexical: NDArray[np.float32]
    operations: sparse.csr_matrix

    def scores(self, base: NDArray[np.float32], lexical: sparse.csr_matrix, share: float) -> Any:
        """Combined scores of the references with ``base``, ``(references, base)``: s of :func:`hybrid`."""
        cosines = self.embeddings @ base.T
        if not share:
            return cosines
        shared: Any = lexical @ self.lexical
        return (cosines + share * shared.T) / (1 + share)


@dataclass(eq=False)
class Searcher:
    """An index that is open for searching, at one version: what a writer commits later is not seen.

        s'_qj = hybrid score of query q and candidate j, the reference functions asked beside q

    The candidates are the :data:`CANDIDATES` nearest by cosine: of all rows up to
    :data:`weft.bcsd.index.store.EXACT_ROWS` of them, above by the approximate index.

    Args:
        store: The rows.
        weights: Of the hybrid score, of the model that made the rows.
        exact_rows: Up to so many rows all are compared.

    Raises:
        InputError: The index is empty.
        StoreError: The table is damaged.
    """

    store: FunctionStore
    weights: ScoreWeights
    exact_rows: int = EXACT_ROWS
    confidence: Confidence = field(default_factory=Confidence)

    def __post_init__(self) -> None:
        self.rows = len(self.store)
        if not self.rows:
            raise InputError("the index is empty", where=str(self.store.folder), hint="`weft bcsd index add`")
        self.exact = self.rows <= self.exact_rows or not self.store.has_neighbours
        if self.exact:
            self._ids, self._embeddings, self._blocks = self.store.vectors()
        sample = self.store.take(self.store.sample(REFERENCE, SMALL))
        self._reference = Reference(
            embeddings_of(sample),
            np.ascontiguousarray(lexical_of(sample).T.toarray(), np.float32),
            operation_rows(sample),
        )

    @staticmethod
    def open(folder: Path, weights: ScoreWeights, version: str) -> Searcher:
        """Open an index.

        Args:
            folder: The index.
            weights: Of the hybrid score.
            version: Of the model that makes the queries.

        Raises:
            StoreError: There is none, it was made with another model, or it is damaged.
            InputError: It is empty.
        """
        check_model(folder, version)
        return Searcher(FunctionStore.open(folder), weights)

    def search(self, queries: pa.Table, count: int = 10, min_blocks: int = SMALL) -> Iterator[Answer]:
        """The best hits of each query.

        Args:
            queries: Of :func:`weft.bcsd.use.embedded.embedded_schema`.
            count: How many hits.
            min_blocks: Functions of the index with fewer blocks are passed over; for a query that is itself
                smaller, those that are smaller still.

        Yields:
            One answer per query, in order.

        Raises:
            InputError: There is no query.
            StoreError: The table is damaged.
        """
        if not queries.num_rows:
            raise InputError("no function to search for", hint="lower --min-blocks, or name a function")
        for first in range(0, queries.num_rows, _CHUNK):
            chunk = queries.slice(first, _CHUNK).combine_chunks()
            embeddings, lexical = embeddings_of(chunk), lexical_of(chunk)
            operations = operation_rows(chunk)
            rows = _shown(chunk)
            least = np.minimum(min_blocks, chunk["num_blocks"].to_numpy())
            nearest = self.candidates(embeddings, least, max(CANDIDATES, count))
            found = _Rows(self.store, nearest)
            for index, row in enumerate(rows):
                base = found.of(nearest[index])
                scores = self._scores(embeddings[index : index + 1], lexical[index], operations[index], base)
                yield self._answer(row, base, scores, count)

    def candidates(
        self, embeddings: NDArray[np.float32], least: NDArray[np.integer], count: int
    ) -> list[NDArray[np.uint64]]:
        """Row ids of the nearest rows of each query, nearest first.

        Args:
            embeddings: ``(queries, dimension)``.
            least: ``(queries,)``, blocks that a candidate has at least.
            count: How many.
        """
        if not self.exact:
            return [
                np.array(self.store.nearest(query, count, int(blocks)), np.uint64)
                for query, blocks in zip(embeddings, least, strict=True)
            ]
        cosines = embeddings @ self._embeddings.T
        cosines[self._blocks[None, :] < least[:, None]] = -np.inf
        chosen = []
        for row in cosines:
            top = np.argpartition(-row, min(count, len(row)) - 1)[:count]
            top = top[np.lexsort((self._ids[top], -row[top]))]
            chosen.append(self._ids[top[np.isfinite(row[top])]])
        return chosen

    def _scores(
        self,
        embedding: NDArray[np.float32],
        lexical: sparse.csr_matrix,
        operations: sparse.csr_matrix,
        base: pa.Table,
    ) -> NDArray[np.float32]:
        """Hybrid scores of one query and its candidates, the reference asked beside it."""
        if not base.num_rows:
            return np.zeros(0, np.float32)
        vectors, held, share = embeddings_of(base), lexical_of(base), self.weights.lexical
        computed = operation_rows(base)
        own = combined(embedding, vectors, lexical, held, share)
        own = with_operations(own, operations, computed, self.weights)
        others = self._reference.scores(vectors, held, share)
        others = with_operations(others, self._reference.operations, computed, self.weights)
        return without_hubs(np.concatenate([own, others]).astype(np.float32, copy=False), self.weights)[0]

    def _answer(self, query: dict[str, Any], base: pa.Table, raw: NDArray[np.float32], count: int) -> Answer:
        rows = _shown(base)
        same = np.array([row["digest"] == query["digest"] for row in rows], bool)
        scores = np.where(same, 1.0, np.minimum(raw, HIGHEST))
        confidences = self.confidence.of(query, rows, scores)
        order = sorted(
            range(len(rows)),
            key=lambda i: (-scores[i], rows[i]["binary"], rows[i]["address"], rows[i]["size"]),
        )[:count]
        hits = [
            Hit(
                rank,
                round(float(scores[i]), 4),
                round(float(confidences[i]), 3),
                rows[i]["name"],
                rows[i]["address"],
                rows[i]["size"],
                rows[i]["num_blocks"],
                rows[i]["binary"],
                rows[i]["architecture"],
                [*rows[i]["flags"], *_remarks(query, rows[i])],
            )
            for rank, i in enumerate(order, 1)
        ]
        small = ["small"] if query["num_blocks"] < SMALL else []
        return Answer(
            query["name"],
            query["address"],
            query["size"],
            query["num_blocks"],
            [*query["flags"], *small],
            hits,
        )


class Found(NamedTuple):
    """A search of a file: what was searched, the answers as they come, what to know about the file."""

    model: str
    rows: int
    answers: Iterator[Answer]
    remarks: tuple[str, ...] = ()


def search_file(
    path: str,
    function: str | None,
    index: Path,
    options: Embedding,
    count: int = 10,
    min_blocks: int = SMALL,
) -> Found:
    """Search an index for the functions of a file.

    Args:
        path: The file.
        function: One of its functions, by name or address; None for all of at least ``min_blocks`` blocks.
        index: The index.
        options: How to embed; the model must be the one that made the index.
        count: Hits per function.
        min_blocks: See :meth:`Searcher.search`.

    Raises:
        InputError: The file cannot be used, there is no such function, or nothing to search for.
        LimitError: The file took too long or too much memory.
        CheckpointError: The model cannot be loaded.
        StoreError: There is no index, it was made with another model, or it is damaged.
    """
    embedder = embedder_of(options.model, options.precision)
    searcher = Searcher.open(index, embedder.weights, embedder.version)
    remarks: list[str] = []
    asked, options = options, in_step(index, options)
    if asked.lifter != "none" and not lifter_named(options.lifter):
        remarks.append(NOT_LIFTED)
    queries = embed_one(path, replace(options, min_blocks=min_blocks), function, remarks)
    answers = searcher.search(queries, count, min_blocks)
    return Found(embedder.version, searcher.rows, answers, tuple(remarks))


class _Rows:
    """The rows of the candidates of several queries, read at once."""

    def __init__(self, store: FunctionStore, wanted: Sequence[NDArray[np.uint64]]) -> None:
        ids = np.unique(np.concatenate(wanted)) if wanted else np.zeros(0, np.uint64)
        self._table = store.take(ids.tolist()).combine_chunks()
        found = self._table["_rowid"].to_numpy() if len(ids) else ids
        self._place = {int(row_id): place for place, row_id in enumerate(found)}

    def of(self, ids: NDArray[np.uint64]) -> pa.Table:
        """These rows, in this order."""
        return self._table.take(pa.array([self._place[int(row_id)] for row_id in ids], pa.int64()))


def _shown(rows: pa.Table) -> list[dict[str, Any]]:
    """What is known of rows beside what they are compared by."""
    return rows.drop_columns([name for name in VECTORS if name in rows.column_names]).to_pylist()


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
