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
from weft.bcsd.presence.features import Asked, Lead, Pool, Terms, crowd, lead
from weft.bcsd.presence.model import Presence, presence_of, shipped_presence
from weft.bcsd.read.members import split_member
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.use.answers import SMALL, Answer, Draft
from weft.bcsd.use.embed_files import Embedding, embed_one, embedder_of
from weft.bcsd.use.embedded import VECTORS, embeddings_of, lexical_of
from weft.bcsd.use.remarks import NOT_FITTED, NOT_LIFTED
from weft.bcsd.use.score import ScoreWeights, combined, with_operations, without_hubs
from weft.bcsd.use.store import find
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: So many of the nearest by cosine are put in order by the hybrid score.
CANDIDATES = 200
#: So many functions of the index stand for all that may be asked, for the hubness correction.
REFERENCE = 512
#: The largest score of two functions whose bytes differ.
HIGHEST = 0.9999
_CHUNK = 64


@dataclass(frozen=True, eq=False)
class Reference:
    """Functions of the index that stand for the queries of the hubness correction.

    Args:
        embeddings: ``(references, dimension)``.
        lexical: ``(features, references)``, dense: a sparse matrix times this is some ten times as fast as
            times a sparse one.
        operations: ``(references, features)``.
        digests: Of their tokens.
    """

    embeddings: NDArray[np.float32]
    lexical: NDArray[np.float32]
    operations: sparse.csr_matrix
    digests: NDArray[Any]

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
        presence: How sure its answers are.

    Raises:
        InputError: The index is empty.
        StoreError: The table is damaged.
    """

    store: FunctionStore
    weights: ScoreWeights
    exact_rows: int = EXACT_ROWS
    presence: Presence = field(default_factory=shipped_presence)

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
            np.array(sample["token_digest"].to_pylist(), dtype=object),
        )

    @staticmethod
    def open(folder: Path, weights: ScoreWeights, version: str, presence: Presence | None = None) -> Searcher:
        """Open an index.

        Args:
            folder: The index.
            weights: Of the hybrid score.
            version: Of the model that makes the queries.
            presence: How sure its answers are; as fitted with the shipped model where None.

        Raises:
            StoreError: There is none, it was made with another model, or it is damaged.
            InputError: It is empty.
        """
        check_model(folder, version)
        return Searcher(FunctionStore.open(folder), weights, presence=presence or shipped_presence())

    def search(self, queries: pa.Table, count: int = 10, min_blocks: int = SMALL) -> Iterator[Answer]:
        """The best hits of each query.

        How sure they are depends on all queries of the call, where these are :data:`~weft.bcsd.presence.model.TOGETHER`
        or more: they are taken for the functions of one file. So no answer comes before all have been looked up.

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
        drafts = list(self._drafts(queries, count, min_blocks))
        leads = [draft.lead for draft in drafts if draft.lead is not None]
        lifted = self._reference.operations.nnz > 0 and operation_rows(queries).nnz > 0
        sure = (self.presence.lifted if lifted else self.presence.tokens)(leads)
        found = zip(*(part.tolist() for part in sure), strict=True)
        for draft in drafts:
            yield draft.answer(*(next(found) if draft.lead is not None else (0.0, 0.0)))

    def _drafts(self, queries: pa.Table, count: int, min_blocks: int) -> Iterator[Draft]:
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
                if not base.num_rows:
                    yield Draft(row, [], np.zeros(0), np.zeros(0, bool), None)
                    continue
                one = (embeddings[index : index + 1], lexical[index], operations[index])
                raw, terms = self._scores(*one, base)
                yield _draft(row, base, nearest[index], raw, terms, count)

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
    ) -> tuple[NDArray[np.float32], Terms]:
        """Hybrid scores of one query and its candidates, the reference asked beside it; what they are made of."""
        vectors, held, share = embeddings_of(base), lexical_of(base), self.weights.lexical
        computed = operation_rows(base)
        own = combined(embedding, vectors, lexical, held, share)
        own = with_operations(own, operations, computed, self.weights)
        others = self._reference.scores(vectors, held, share)
        others = with_operations(others, self._reference.operations, computed, self.weights)
        digests = np.array(base["token_digest"].to_pylist(), dtype=object)
        by_tokens: Any = lexical @ held.T
        by_operations: Any = operations @ computed.T
        crowds = crowd(others, self._reference.digests, digests)
        learned = (embedding @ vectors.T)[0]
        terms = Terms(learned, by_tokens.toarray()[0], by_operations.toarray()[0], own[0], crowds)
        raw = without_hubs(np.concatenate([own, others]).astype(np.float32, copy=False), self.weights)[0]
        return raw, terms


def _draft(
    query: dict[str, Any],
    base: pa.Table,
    ids: NDArray[np.uint64],
    raw: NDArray[np.float32],
    terms: Terms,
    count: int,
) -> Draft:
    """The best candidates of a query, in order."""
    texts = ("token_digest", "name", "architecture", "digest", "binary")
    codes, names, processors, digests, binaries = (
        np.array(base[name].to_pylist(), dtype=object) for name in texts
    )
    numbers = ("num_instructions", "num_blocks", "address", "size")
    instructions, blocks, addresses, sizes = (base[name].to_numpy() for name in numbers)
    scores = np.where(digests == query["digest"], 1.0, np.minimum(raw, HIGHEST))
    order = sorted(range(len(ids)), key=lambda i: (-scores[i], binaries[i], addresses[i], sizes[i]))
    best, shown = order[0], order[:count]
    pool = Pool(codes, names, instructions, blocks, processors)
    asked = Asked(query["num_instructions"], query["num_blocks"], query["architecture"])
    found = Lead(
        lead(asked, pool, terms, best),
        int(ids[best]),
        float(terms.plain[best]),
        query["token_digest"],
        split_member(binaries[best])[0],
        ids,
        terms.plain,
    )
    return Draft(query, _shown(base.take(pa.array(shown))), scores[shown], pool.same(best)[shown], found)


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
    presence, fitted = presence_of(find(options.model), embedder.version)
    searcher = Searcher.open(index, embedder.weights, embedder.version, presence)
    remarks: list[str] = [] if fitted else [NOT_FITTED]
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
