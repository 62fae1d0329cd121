"""200,000 different functions with their embeddings, for the benchmark of the index: made once, kept in a file."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from weft.bcsd.table import write_tables
from weft.bcsd.use.embed_files import Embedding, embedder_of
from weft.bcsd.use.embedded import embed_table
from weft.bcsd.use.search.answers import SMALL
from weft.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA = "functions.parquet"
ASKED = 200
_GROUPS_PER_JOB = 4


class Chosen(NamedTuple):
    """Rows of a data set, no two of equal tokens.

    Args:
        base: Rows of the index, ascending.
        asked: Rows that are asked for, of at least :data:`weft.bcsd.use.search.answers.SMALL` blocks; none is in
            ``base``.
    """

    base: NDArray[np.int64]
    asked: NDArray[np.int64]


class _Job(NamedTuple):
    data: str
    groups: list[int]
    kept: NDArray[np.int64]
    part: str
    options: Embedding


def choose(data: Path, count: int) -> Chosen:
    """Draw functions of different tokens, of all sizes.

    Args:
        data: The table that ``weft bcsd dataset build`` made.
        count: How many for the index.

    Raises:
        InputError: There are too few.
    """
    facts = pq.read_table(data, columns=["token_digest", "num_blocks"])
    _, first = np.unique(np.array(facts["token_digest"].to_pylist()), return_index=True)
    if len(first) < count + ASKED:
        raise InputError(f"{len(first)} different functions; {count + ASKED} are needed", where=str(data))
    drawn = np.random.default_rng(0).permutation(first)
    base, rest = drawn[:count], drawn[count:]
    large = rest[facts["num_blocks"].to_numpy()[rest] >= SMALL]
    return Chosen(np.sort(base), np.sort(large[:ASKED]))


def embedded_rows(work: Path, count: int, options: Embedding) -> tuple[pa.Table, pa.Table]:
    """The embedded functions of an index, and those to ask for; made where the file of this model is absent.

    Args:
        work: The folder of the data set; the file is kept in it, under the model's version.
        count: How many for the index.
        options: The model, its precision, and how many processes embed.

    Raises:
        InputError: The data set has too few functions.
        CheckpointError: The model cannot be loaded.
    """
    version = embedder_of(options.model, options.precision).version
    chosen = choose(work / DATA, count)
    place = work / f"index-{count}-{version}.parquet"
    if not place.exists():
        _make(work / DATA, np.sort(np.concatenate(chosen)), place, options)
    rows = pq.read_table(place)
    is_asked = np.isin(np.sort(np.concatenate(chosen)), chosen.asked)
    return rows.filter(pa.array(~is_asked)), rows.filter(pa.array(is_asked))


def _make(data: Path, rows: NDArray[np.int64], place: Path, options: Embedding) -> None:
    """Embed these rows in several processes, and write them in order."""
    parts = place.with_suffix(".parts")
    parts.mkdir(exist_ok=True)
    jobs = list(_jobs(data, rows, parts, options))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        written = list(pool.map(_embed, jobs))
    write_tables(map(pq.read_table, written), place, pq.read_schema(written[0]))
    shutil.rmtree(parts)


def _jobs(data: Path, rows: NDArray[np.int64], parts: Path, options: Embedding) -> Sequence[_Job]:
    """Some row groups each, with the rows that are wanted, counted within them."""
    metadata = pq.ParquetFile(data).metadata
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    ends = np.cumsum([0, *sizes])
    jobs: list[_Job] = []
    for first in range(0, len(sizes), _GROUPS_PER_JOB):
        groups = list(range(first, min(first + _GROUPS_PER_JOB, len(sizes))))
        begin, end = ends[first], ends[groups[-1] + 1]
        kept = rows[(rows >= begin) & (rows < end)] - begin
        if len(kept):
            jobs.append(_Job(str(data), groups, kept, str(parts / f"{first:05}.parquet"), options))
    return jobs


def _embed(job: _Job) -> str:
    """One job, in a process of one thread; what an earlier, stopped run has done is kept."""
    if not os.path.exists(job.part):
        torch.set_num_threads(1)
        functions = pq.ParquetFile(job.data).read_row_groups(job.groups).take(pa.array(job.kept))
        rows = embed_table(functions, embedder_of(job.options.model, job.options.precision))
        write_tables([rows], Path(job.part), rows.schema)
    return job.part
