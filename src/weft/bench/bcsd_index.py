"""The index: latency and recall of a search among 200,000 functions, work of an update, safety of a killed writer."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from weft.bcsd.extract import find_binaries
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.use.embed_files import Embedding, embed_each, embedder_of
from weft.bcsd.use.embedded import embeddings_of
from weft.bcsd.use.search import CANDIDATES, SMALL, Searcher
from weft.bench.bcsd_index_writers import kill_rows, update_rows
from weft.bench.table import Row
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 200_000
_REAL = 4_000
_ASKED = 200
_LIMIT_MS = 100.0
_RECALL = 0.95
#: Length of the noise that is added to a real embedding, which has length 1: cosines to it of about .9.
_NOISE = 0.5
_PLACES = ("/usr/lib", "/lib", "/usr/bin")


def rows(quick: bool) -> list[Row]:
    """All measurements of the index."""
    options = Embedding()
    with tempfile.TemporaryDirectory(prefix="weft-bench-index-") as name:
        place = Path(name)
        measured = search_rows(place, options, quick)
        small = small_binaries(20 if quick else 200, place / "files")
        measured += update_rows(place, small, options)
        measured += kill_rows(place, small, options, kills=2 if quick else 20)
    return measured


def search_rows(place: Path, options: Embedding, quick: bool) -> list[Row]:
    """Latency and recall, exact and approximate, in an index of real functions and jittered copies of them."""
    total = 20_000 if quick else ROWS
    real = real_functions(place, options, total // 50 if quick else _REAL)
    embedder = embedder_of(options.model, options.precision)
    random = np.random.default_rng(0)
    asked = real.take(random.choice(real.num_rows, min(_ASKED, real.num_rows), replace=False))
    asked = jittered(asked, random, "query")
    folder = place / "large"
    folder.mkdir()
    store = FunctionStore.open_or_create(folder, embedder.dimension, embedder.version)
    store.replace(real)
    copy = 0
    while len(store) < total:
        part = real.slice(0, total - len(store))
        store.replace(jittered(part, random, f"/copy/{copy}"))
        copy += 1
    store.tidy(exact_rows=0)
    exact = Searcher(store, embedder.weights, exact_rows=total)
    near = Searcher(store, embedder.weights, exact_rows=0)
    shape = f"{total:,} functions: {real.num_rows:,} real ones and {copy} jittered copies of each"
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


def real_functions(place: Path, options: Embedding, count: int) -> pa.Table:
    """Embedded functions of at least :data:`SMALL` blocks of this machine's libraries.

    Raises:
        InputError: There are too few.
    """
    found = [path for folder in _PLACES if os.path.isdir(folder) for path in libraries(folder)]
    shuffled = [found[number] for number in np.random.default_rng(0).permutation(len(found))]
    tables: list[pa.Table] = []
    held = 0
    for _, table in embed_each(shuffled, options, place):
        if table is not None:
            tables.append(table.filter(np.asarray(table["num_blocks"]) >= SMALL))
            held += tables[-1].num_rows
        if held >= count:
            return pa.concat_tables(tables).slice(0, count).combine_chunks()
    raise InputError(f"only {held} functions in the libraries of this machine; {count} are needed")


def libraries(folder: str) -> list[str]:
    """Binaries of moderate size."""
    return [path for path in find_binaries([folder]) if 50_000 < os.path.getsize(path) < 1_000_000]


def small_binaries(count: int, folder: Path) -> list[Path]:
    """Copies of the smallest binaries of this machine.

    Raises:
        InputError: There are too few.
    """
    found = {path for place in _PLACES if os.path.isdir(place) for path in find_binaries([place])}
    sized = sorted((os.path.getsize(path), path) for path in found if os.path.getsize(path) > 12_000)
    if len(sized) < count:
        raise InputError(f"only {len(sized)} binaries on this machine; {count} are needed")
    folder.mkdir()
    copies: list[Path] = []
    for number, (_, path) in enumerate(sized[:count]):
        copies.append(folder / f"{number:03}-{Path(path).name}")
        copies[-1].write_bytes(Path(path).read_bytes())
    return copies


def jittered(rows: pa.Table, random: np.random.Generator, binary: str) -> pa.Table:
    """The same functions with noise on their embeddings, under another path."""
    vectors = embeddings_of(rows)
    noise = random.standard_normal(vectors.shape).astype(np.float32)
    vectors = vectors + _NOISE * noise / np.sqrt(vectors.shape[1])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    count = rows.num_rows
    digests = [f"{binary}:{number}" for number in range(count)]
    for name, values in (
        ("embedding", column),
        ("binary", pa.array([binary] * count)),
        ("digest", pa.array(digests)),
        ("token_digest", pa.array(digests)),
    ):
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(name)
        rows = rows.set_column(place, field, values.cast(field.type))
    return rows


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
