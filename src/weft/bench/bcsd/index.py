"""`weft bench bcsd-index`: latency and recall of a search among 200,000 different functions.

They are drawn from ``functions.parquet`` in the folder that ``WEFT_BCSD_WORK`` names (`weft bcsd dataset build …
--work`); without it there are no rows. The first run embeds them, and keeps them beside that file.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.bcsd.index.store import FunctionStore
from weft.bcsd.use.embed_files import Embedding, embedder_of
from weft.bcsd.use.embedded import embeddings_of
from weft.bcsd.use.search.agreement import CANDIDATES
from weft.bcsd.use.search.answers import SMALL
from weft.bcsd.use.search.searcher import Searcher
from weft.bench.bcsd.index_rows import DATA, embedded_rows
from weft.bench.table import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 200_000
_ROWS_PER_COMMIT = 20_000
_LIMIT_MS = 100.0
_RECALL = 0.95


def rows(quick: bool) -> list[Row]:
    """All measurements; ``quick`` makes a small index. Two processes embed, where the machine has two cores."""
    named = os.environ.get("WEFT_BCSD_WORK")
    if not named or not (Path(named) / DATA).is_file():
        return []
    options = Embedding(workers=len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix="weft-bench-index-") as place:
        return search_rows(Path(place), Path(named), options, ROWS // 10 if quick else ROWS)


def search_rows(place: Path, work: Path, options: Embedding, total: int) -> list[Row]:
    """Latency and recall, exact and approximate, in an index of so many different functions."""
    base, asked = embedded_rows(work, total, options)
    embedder = embedder_of(options.model, options.precision)
    store = FunctionStore.open_or_create(place, embedder.dimension, embedder.version)
    for first in range(0, total, _ROWS_PER_COMMIT):
        store.replace(base.slice(first, _ROWS_PER_COMMIT))
    del base
    store.tidy(exact_rows=0)
    exact = Searcher(store, embedder.weights, exact_rows=total)
    near = Searcher(store, embedder.weights, exact_rows=0)
    shape = f"{total:,} different functions, {asked.num_rows} others asked for"
    result: list[Row] = []
    for name, searcher in (("exact", exact), ("approximate", near)):
        wall, busy = latencies(searcher, asked)
        for what, times in (("by the clock", wall), ("processor time", busy)):
            p95 = float(np.percentile(times, 95))
            variant = f"{name}, {what}, {shape}; baseline: the bound"
            result.append(Row("search p95", variant, "fp32", "ms", p95, _LIMIT_MS, "lower", 1.0))
    recall = recall_of_neighbours(exact, near, asked)
    result.append(
        Row(
            "recall@10 by cosine",
            f"approximate against exact, {shape}",
            "fp32",
            "share",
            recall,
            1.0,
            "higher",
            _RECALL,
        )
    )
    result.append(
        Row(
            "recall@10 of answers",
            f"the best by score among {CANDIDATES} candidates against those among {10 * CANDIDATES}",
            "fp32",
            "share",
            recall_of_answers(exact, asked.slice(0, 50)),
            1.0,
            "higher",
            _RECALL,
        )
    )
    return result


def latencies(searcher: Searcher, asked: pa.Table) -> tuple[list[float], list[float]]:
    """Milliseconds of each search, by the clock and of the processor; the index open, the query embedded."""
    wall: list[float] = []
    busy: list[float] = []
    list(searcher.search(asked.slice(0, 1)))
    for number in range(asked.num_rows):
        begun, used = time.perf_counter(), time.process_time()
        list(searcher.search(asked.slice(number, 1)))
        wall.append((time.perf_counter() - begun) * 1e3)
        busy.append((time.process_time() - used) * 1e3)
    return wall, busy


def recall_of_neighbours(exact: Searcher, near: Searcher, asked: pa.Table) -> float:
    """Share of the ten nearest by cosine that the approximate index finds among its ten nearest."""
    vectors = embeddings_of(asked)
    least = np.full(len(vectors), SMALL)
    true, found = (searcher.candidates(vectors, least, 10) for searcher in (exact, near))
    return _share(true, found, lambda ids: set(ids.tolist()))


def recall_of_answers(searcher: Searcher, asked: pa.Table) -> float:
    """Share of the ten best by score, were ten times the candidates scored, that a search answers."""
    answers = list(searcher.search(asked, 10))
    wide = [answer._replace(hits=answer.hits[:10]) for answer in searcher.search(asked, 10 * CANDIDATES)]
    return _share(wide, answers, lambda answer: {(hit.binary, hit.address) for hit in answer.hits})


def _share(true: list[Any], found: list[Any], members: Callable[[Any], set[Any]]) -> float:
    shares: NDArray[np.float64] = np.array(
        [len(members(a) & members(b)) / len(members(a)) for a, b in zip(true, found, strict=True)]
    )
    return float(shares.mean())
