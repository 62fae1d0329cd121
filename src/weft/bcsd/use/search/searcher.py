"""Searching an index: candidates by cosine, put in order by the hybrid score."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.bcsd.index.rows import DEBUG_FILES
from weft.bcsd.index.store import EXACT_ROWS, FunctionStore
from weft.bcsd.index.update import check_model
from weft.bcsd.presence.features import Asked, Lead, Pool, Terms, agreeing, crowded, lead
from weft.bcsd.presence.model import TOGETHER, Presence, shipped_presence
from weft.bcsd.read.members import file_of
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.represent.rows import Rows
from weft.bcsd.represent.sketch import COLUMN as SKETCH
from weft.bcsd.table import CALLED
from weft.bcsd.use.embedded import SHOWN, VECTORS, embeddings_of, lexical_of, sketches_of
from weft.bcsd.use.score import ScoreWeights, joined
from weft.bcsd.use.search.agreement import CANDIDATES
from weft.bcsd.use.search.answers import SMALL, Answer, Draft
from weft.bcsd.use.search.candidates import Judged, Looked, Seen, alone, judge
from weft.bcsd.use.search.surroundings import Surroundings
from weft.errors import InputError
from weft.platform.ranges import at_least

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: So many functions of the index say how crowded the place of another is.
REFERENCE = 512
#: The largest score of two functions whose bytes differ.
HIGHEST = 0.9999
#: Columns of an index that no answer needs.
_UNREAD = ("binary_sha256", "aliases", "num_edges", "ordinal", "draw", SKETCH, DEBUG_FILES)
#: Those that its surroundings are not told by.
_BESIDE = {*_UNREAD, *CALLED, *SHOWN} - {"token_digest"}
_CHUNK = 64


@dataclass(eq=False)
class Searcher:
    """An index that is open for searching, at one version: what a writer commits later is not seen.

        s_qj = hybrid score of query q and candidate j        s''_qj of :func:`~weft.bcsd.use.search.candidates.judged`

    The candidates are the :data:`~weft.bcsd.use.search.agreement.CANDIDATES` nearest by the learned cosine and the
    sketch of what functions compute: of all rows up to ``exact_rows`` of them, above so many by either from the
    approximate indices. Queries of one call share the pass over all rows; of the approximate indices each reads its
    own lists. These are quicker to open for a single search; rows in memory are quicker to ask again and again.

    Args:
        store: The rows.
        weights: Of the hybrid score, of the model that made the rows.
        exact_rows: Up to so many rows all are compared.
        presence: How sure its answers are.
        resident: Keep all columns of all rows in memory, where all are compared: for more than a few searches.

    Raises:
        InputError: The index is empty.
        StoreError: The table is damaged.
    """

    store: FunctionStore
    weights: ScoreWeights
    exact_rows: int = EXACT_ROWS
    presence: Presence = field(default_factory=shipped_presence)
    resident: bool = False

    def __post_init__(self) -> None:
        self.rows = len(self.store)
        if not self.rows:
            raise InputError("the index is empty", where=str(self.store.folder), hint="`weft bcsd index add`")
        self.exact = self.rows <= self.exact_rows or not self.store.has_neighbours
        self._held: _Held | None = None
        if self.exact and self.resident:
            table = self.store.rows()
            self._held = _Held(table)
            self._ids, self._blocks = table["_rowid"].to_numpy(), table["num_blocks"].to_numpy()
            self._embeddings, self._sketches = embeddings_of(table), sketches_of(table)
        elif self.exact:
            self._ids, self._embeddings, self._blocks, self._sketches = self.store.vectors()
        sample = self.store.take(self.store.sample(REFERENCE, SMALL), _BESIDE)
        self._around = Surroundings(sample, self.weights)

    @staticmethod
    def open(
        folder: Path,
        weights: ScoreWeights,
        version: str,
        presence: Presence | None = None,
        *,
        resident: bool = False,
        exact_rows: int = EXACT_ROWS,
    ) -> Searcher:
        """Open an index.

        Args:
            folder: The index.
            weights: Of the hybrid score.
            version: Of the model that makes the queries.
            presence: How sure its answers are; as fitted with the shipped model where None.
            resident: As of the class.
            exact_rows: As of the class.

        Raises:
            StoreError: There is none, it was made with another model, or it is damaged.
            InputError: It is empty.
        """
        check_model(folder, version)
        store = FunctionStore.open(folder)
        return Searcher(store, weights, exact_rows, presence or shipped_presence(), resident)

    def search(
        self, queries: pa.Table, count: int = 10, min_blocks: int = SMALL, *, apart: bool = False
    ) -> Iterator[Answer]:
        """The best hits of each query.

        The queries of a call, where they are :data:`~weft.bcsd.presence.model.TOGETHER` or more, are taken for the
        functions of one file: what they call, and who calls them, says which candidate is which, and how sure that is.
        So no answer comes before all have been looked up.

        Args:
            queries: Of :func:`weft.bcsd.use.embedded.embedded_schema`.
            count: How many hits.
            min_blocks: Functions of the index with fewer blocks are passed over; for a query that is itself
                smaller, those that are smaller still.
            apart: The queries have nothing to do with each other: each is answered as if it were asked alone.

        Yields:
            One answer per query, in order.

        Raises:
            ConfigError: ``count`` is below 1, or ``min_blocks`` below 0.
            InputError: There is no query.
            StoreError: The table is damaged.
        """
        at_least(1, count=count)
        at_least(0, min_blocks=min_blocks)
        together = not apart and queries.num_rows >= TOGETHER
        drafts = self._drafts(queries, count, min_blocks, together)
        found = iter(self._sure(operation_rows(queries), [draft.lead for draft in drafts], apart))
        for draft in drafts:
            yield draft.answer(*(next(found) if draft.lead is not None else (0.0, 0.0)))

    def _sure(self, operations: Rows, leads: list[Lead | None], apart: bool) -> list[tuple[float, float]]:
        """How sure each lead is right, and the function there at all."""
        groups = [range(number, number + 1) for number in range(len(leads))] if apart else [range(len(leads))]
        found: list[tuple[float, float]] = []
        for group in groups:
            some = [lead for lead in leads[group.start : group.stop] if lead is not None]
            lifted = self._around.lifted and operations[group.start : group.stop].nnz > 0
            sure = (self.presence.lifted if lifted else self.presence.tokens)(some)
            found += zip(*(part.tolist() for part in sure), strict=True)
        return found

    def _drafts(self, queries: pa.Table, count: int, min_blocks: int, together: bool) -> list[Draft]:
        if not queries.num_rows:
            raise InputError("no function to search for", hint="lower --min-blocks, or name a function")
        looked: list[Looked] = []
        seen = Seen()
        for first in range(0, queries.num_rows, _CHUNK):
            chunk = queries.slice(first, _CHUNK).combine_chunks()
            embeddings, lexical = embeddings_of(chunk), lexical_of(chunk)
            operations = operation_rows(chunk)
            least = np.minimum(min_blocks, chunk["num_blocks"].to_numpy())
            nearest = self.candidates(embeddings, least, max(CANDIDATES, count), sketches_of(chunk))
            # Of calls nothing is made where there is one query.
            unread = _UNREAD if together else (*_UNREAD, *CALLED)
            found = self._held or _Rows(self.store, nearest, unread)
            for index, ids in enumerate(nearest):
                base = found.of(ids)
                one = (embeddings[index], lexical[index], operations[index])
                terms = self._terms(*one, base) if base.num_rows else None
                looked.append(Looked(ids, seen.places(ids, base), terms))
        said = judge(queries, looked, seen.rows(), self.weights) if together else map(alone, looked)
        drafts = [
            _draft(row, seen.some(one.places), one, of_it, count)
            for row, one, of_it in zip(_shown(queries), looked, said, strict=True)
        ]
        return self._crowded(drafts)

    def _crowded(self, drafts: list[Draft]) -> list[Draft]:
        """The drafts, how crowded the places of their first hits are looked up."""
        leads = [draft.lead for draft in drafts if draft.lead is not None]
        ids = np.unique(np.array([one.row for one in leads], np.uint64))
        new = self._around.unknown(ids)
        if len(new):
            self._around.learn(new, (self._held or _Rows(self.store, [new], _BESIDE)).of(new))
        crowds = dict(zip(ids.tolist(), self._around.of(ids).tolist(), strict=True))
        return [
            draft if draft.lead is None else replace(draft, lead=crowded(draft.lead, crowds[draft.lead.row]))
            for draft in drafts
        ]

    def candidates(
        self,
        embeddings: NDArray[np.float32],
        least: NDArray[np.integer],
        count: int,
        sketches: NDArray[np.float32] | None = None,
    ) -> list[NDArray[np.uint64]]:
        """Row ids of the nearest rows of each query, nearest first.

        Args:
            embeddings: ``(queries, dimension)``.
            least: ``(queries,)``, blocks that a candidate has at least.
            count: How many; from the approximate indices so many by each.
            sketches: ``(queries, DIMENSION)``, what the queries compute; None asks by the embeddings alone.
        """
        if not self.exact:
            beside = [None] * len(embeddings) if sketches is None else list(sketches)
            return [
                np.array(self.store.nearest(query, count, int(blocks), sketch), np.uint64)
                for query, blocks, sketch in zip(embeddings, least, beside, strict=True)
            ]
        # The rows from the left: from the right, the product copies all of them first.
        cosines = np.ascontiguousarray((self._embeddings @ embeddings.T).T)
        if sketches is not None and self._sketches is not None:
            cosines += self.weights.operations * (self._sketches @ sketches.T).T
        cosines[self._blocks[None, :] < least[:, None]] = -np.inf
        chosen = []
        for row in cosines:
            first = min(count, len(row))
            top = np.flatnonzero(row >= np.partition(row, len(row) - first)[len(row) - first])
            top = top[np.lexsort((self._ids[top], -row[top]))][:first]
            chosen.append(self._ids[top[np.isfinite(row[top])]])
        return chosen

    def _terms(
        self,
        embedding: NDArray[np.float32],
        lexical: Rows,
        operations: Rows,
        base: pa.Table,
    ) -> Terms:
        """How alike one query and its candidates are."""
        vectors, held, share = embeddings_of(base), lexical_of(base), self.weights.lexical
        computed = operation_rows(base)
        learned = vectors @ embedding
        by_tokens = held.products(lexical)[:, 0]
        by_operations = computed.products(operations)[:, 0]
        own = ((learned + share * by_tokens) / (1 + share)).astype(np.float32, copy=False)
        lifted = computed.present & (operations.nnz > 0)
        own = joined(own, by_operations, lifted, self.weights)
        return Terms(learned, by_tokens, by_operations, own)


def _draft(
    query: dict[str, Any],
    base: pa.Table,
    looked: Looked,
    said: Judged,
    count: int,
) -> Draft:
    """The best candidates of a query, in order."""
    ids, terms = looked.ids, looked.terms
    if terms is None:
        return Draft(query, [], np.zeros(0), np.zeros(0, bool), None)
    texts = ("token_digest", "name", "architecture", "digest", "binary")
    codes, names, processors, digests, binaries = (
        np.array(base[name].to_pylist(), dtype=object) for name in texts
    )
    numbers = ("num_instructions", "num_blocks", "address", "size")
    instructions, blocks, addresses, sizes = (base[name].to_numpy() for name in numbers)
    raw, copies = said.scores, digests == query["digest"]
    order = sorted(
        range(len(ids)), key=lambda i: (not copies[i], -raw[i], binaries[i], addresses[i], sizes[i])
    )
    best, shown = order[0], order[:count]
    pool = Pool(codes, names, instructions, blocks, processors)
    asked = Asked(query["num_instructions"], query["num_blocks"], query["architecture"])
    found = Lead(
        lead(asked, pool, terms, best),
        int(ids[best]),
        float(terms.plain[best]),
        query["token_digest"],
        file_of(binaries[best]),
        ids,
        terms.plain,
        agreeing(pool, said.agreement, best),
    )
    scores = np.where(copies, 1.0, np.minimum(raw, HIGHEST))
    return Draft(query, _shown(base.take(pa.array(shown))), scores[shown], pool.same(best)[shown], found)


class _Rows:
    """The rows of the candidates of several queries, read at once."""

    def __init__(
        self, store: FunctionStore, wanted: Sequence[NDArray[np.uint64]], without: Collection[str]
    ) -> None:
        ids = np.unique(np.concatenate(wanted)) if wanted else np.zeros(0, np.uint64)
        self._table = store.take(ids.tolist(), without).combine_chunks()
        found = self._table["_rowid"].to_numpy() if len(ids) else ids
        self._place = {int(row_id): place for place, row_id in enumerate(found)}

    def of(self, ids: NDArray[np.uint64]) -> pa.Table:
        """These rows, in this order."""
        return self._table.take(pa.array([self._place[int(row_id)] for row_id in ids], pa.int64()))


class _Held:
    """All rows of an index, in memory."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        ids = table["_rowid"].to_numpy()
        self._order = np.argsort(ids)
        self._sorted = ids[self._order]

    def of(self, ids: NDArray[np.uint64]) -> pa.Table:
        """These rows, in this order."""
        return self._table.take(pa.array(self._order[np.searchsorted(self._sorted, ids)]))


def _shown(rows: pa.Table) -> list[dict[str, Any]]:
    """What is known of rows beside what they are compared by."""
    return rows.drop_columns([name for name in VECTORS if name in rows.column_names]).to_pylist()
