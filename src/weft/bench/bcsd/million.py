"""`weft bench bcsd-million`: searching an index of 1,000,000 functions, and how long the command takes for one answer.

The functions are made of those of this machine's own libraries (:mod:`weft.bench.bcsd.made`). The first run makes the
index in the folder that ``WEFT_BCSD_WORK`` names, and keeps it there under the model's version; without it there are
no rows. The index stands there whole or not at all: a run that was stopped leaves nothing to go on with.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.bcsd.index.store import FunctionStore
from weft.bcsd.use.embed_files import Embedding, embedder_of
from weft.bcsd.use.search.answers import SMALL
from weft.bcsd.use.search.searcher import Searcher
from weft.bench.bcsd.index import latencies, recall_of_neighbours
from weft.bench.bcsd.made import made_index
from weft.bench.table import Row
from weft.errors import InputError
from weft.platform.files import make_folder, replaced_folder

ROWS = 1_000_000
_BASE = "base.parquet"
_LIBRARIES = "*-linux-gnu/lib*.so.*"
_SIZES = range(200_000, 1_200_000)
_FILES, _ASKED, _STARTS = 10, 100, 5
_LIMIT_MS, _START_MS, _RECALL = 150.0, 1500.0, 0.95


def rows(quick: bool) -> list[Row]:
    """All measurements; ``quick`` makes a fiftieth."""
    total = ROWS // 50 if quick else ROWS
    named = os.environ.get("WEFT_BCSD_WORK")
    if not named:
        return []
    version = embedder_of(Embedding().model, Embedding().precision).version
    folder = Path(named) / f"made-{total}-{version}"
    base = _made(folder, total)
    return [*_searches(folder / "index", base, total), *_starts(folder / "index", total)]


def libraries() -> list[Path]:
    """Libraries of this machine, the first by name.

    Raises:
        InputError: There is none of a middling size.
    """
    found = [
        path
        for path in sorted(Path("/usr/lib").glob(_LIBRARIES))
        if not path.is_symlink() and path.stat().st_size in _SIZES
    ]
    if not found:
        raise InputError("no library of a middling size on this machine", where="/usr/lib")
    return found[:_FILES]


def _made(folder: Path, total: int) -> pa.Table:
    """What may be asked for; the index is made, with it, where the folder is not there."""
    if not folder.exists():
        make_folder(folder.parent)
        with replaced_folder(folder) as new:
            pq.write_table(made_index(new / "index", libraries(), total, Embedding()), new / _BASE)
    return pq.read_table(folder / _BASE)


def _searches(index: Path, base: pa.Table, total: int) -> list[Row]:
    embedder = embedder_of(Embedding().model, Embedding().precision)
    large = base.filter(pc.field("num_blocks") >= SMALL)
    drawn = np.random.default_rng(1).permutation(large.num_rows)[:_ASKED]
    asked = large.take(pa.array(drawn))
    store = FunctionStore.open(index)
    result: list[Row] = []
    near = Searcher(store, embedder.weights)
    held = Searcher(store, embedder.weights, exact_rows=total, resident=True)
    for name, searcher in (("the command's way", near), ("the service's way, rows in memory", held)):
        wall, busy = latencies(searcher, asked)
        for what, times in (("by the clock", wall), ("processor time", busy)):
            variant = f"{total:,} functions, {name}, {what}; baseline: the bound"
            p95 = float(np.percentile(times, 95))
            result.append(Row("search p95", variant, "fp32", "ms", p95, _LIMIT_MS, "lower", 1.0))
    recall = recall_of_neighbours(held, near, asked)
    variant = f"{total:,} functions, approximate against exact"
    result.append(Row("recall@10 by cosine", variant, "fp32", "share", recall, 1.0, "higher", _RECALL))
    return result


def _starts(index: Path, total: int) -> list[Row]:
    """`weft bcsd search FILE:FUNCTION`, as a process of its own, from its start to its end."""
    file = libraries()[0]
    command = [sys.executable, "-m", "weft", "bcsd"]
    shown = subprocess.run(
        [*command, "show", str(file), "--json"], check=True, capture_output=True, text=True
    ).stdout
    function = next(entry for entry in json.loads(shown)["functions"] if entry["blocks"] >= SMALL)
    asked = [
        *command,
        "search",
        f"{file}:{function['address']:#x}",
        "--index",
        str(index),
        "--json",
        "--quiet",
    ]
    counted = [sys.executable, "-m", "weft.bench.bcsd.counted", *asked]
    runs = [
        json.loads(subprocess.run(counted, check=True, capture_output=True).stdout) for _ in range(_STARTS)
    ]
    wall, busy = (1e3 * statistics.median(run[name] for run in runs) for name in ("wall", "busy"))
    variant = f"`weft bcsd search FILE:FUNCTION` in {total:,} functions, {{}}; baseline: the bound"
    clock, all_processes = variant.format("by the clock"), variant.format("processor time of all processes")
    return [
        Row("start to answer, median", clock, "-", "ms", wall, _START_MS, "lower", 1.0),
        Row("start to answer, median", all_processes, "-", "ms", busy, _START_MS, "lower"),
    ]
