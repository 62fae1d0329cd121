"""`weft bench bcsd-model`: functions embedded per second, what half precision costs, what the graph costs.

Reads the functions of the test packages from ``functions.parquet`` in the folder that ``WEFT_BCSD_WORK`` names
(`weft bcsd dataset build … --work`); without it there are no rows. Under three minutes on two cores.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from weft.bcsd.evaluate.report import Vectors
from weft.bcsd.evaluate.tasks import COLUMNS, HEADLINE, Labels
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import COLUMNS as MODEL_COLUMNS
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.table import read_table
from weft.bcsd.use.embed_files import embedder_of
from weft.bcsd.use.embedder import Embedder
from weft.bcsd.use.score import ScoreWeights
from weft.bcsd.use.store import DEFAULT_MODEL
from weft.bench.measure import medians
from weft.bench.table import Row
from weft.objective.metrics import hit_at_k, ranks

if TYPE_CHECKING:
    from threading import Barrier

RATE = 600.0
#: Builds whose functions are embedded: -O0 is long, AArch64 is another instruction set.
BUILDS = ("gcc-O0-x86_64", "gcc-O2-aarch64", "gcc-O2-x86_64")
_FEW = 500
_PASSES = 5
_PATIENCE = 300.0

_PLAIN = ScoreWeights(lexical=0.0, operations=0.0)


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` embeds few functions."""
    named = os.environ.get("WEFT_BCSD_WORK")
    if not named or not (Path(named) / "functions.parquet").is_file():
        return
    functions = read_table(Path(named) / "functions.parquet", list(COLUMNS))
    test = functions.filter(pc.field("role") == "test")
    chosen = test.filter(pc.field("build").isin(BUILDS)).slice(0, _FEW if quick else None)
    arrays = FunctionArrays.from_table(chosen)
    processes = len(os.sched_getaffinity(0))
    variant = f"{len(arrays):,} functions of the test packages, {processes} processes, by the clock"
    rate = len(arrays) / seconds_by_the_clock(chosen.select(list(MODEL_COLUMNS)), processes)
    yield Row("bcsd: functions embedded", variant, "auto", "1/s", rate, 1.0, "higher", RATE)
    single, half = (Embedder.load(precision=precision) for precision in ("fp32", "bf16"))
    times = medians(lambda: half.embed(arrays), lambda: single.embed(arrays), repeats=2, warmup=1)
    threads = torch.get_num_threads()
    variant = f"{len(arrays):,} functions, {threads} threads, by processor time of one"
    for precision, milliseconds in zip(("bf16", "fp32"), times, strict=True):
        rate = len(arrays) / (milliseconds / 1e3)
        yield Row("bcsd: functions embedded", variant, precision, "1/s", rate, 1.0, "higher")
    yield _without_graph(single, arrays)
    yield Row(
        "bcsd: Recall@1, bf16 / fp32",
        "mean of the headline settings, ≥ 5 blocks",
        "bf16",
        "R@1",
        _recall(test, half),
        _recall(test, single),
        "higher",
        0.995,
    )


def seconds_by_the_clock(functions: pa.Table, processes: int, passes: int = _PASSES) -> float:
    """Time that so many processes of one thread take to embed all functions, each its share; the median pass.

    The model is loaded, and every process has embedded its share once.

    Args:
        functions: With the columns that a model reads.
        processes: How many; function i falls to process i mod processes.
        passes: Passes that are timed; in each, all processes begin together.
    """
    context = multiprocessing.get_context("spawn")
    shares = [functions.take(np.arange(first, len(functions), processes)) for first in range(processes)]
    with (
        context.Manager() as manager,
        ProcessPoolExecutor(processes, mp_context=context) as pool,
    ):
        barrier = manager.Barrier(processes, timeout=_PATIENCE)
        jobs = [pool.submit(_timed, FunctionArrays.from_table(share), passes, barrier) for share in shares]
        spans = [job.result() for job in jobs]
    return statistics.median(
        max(end for _, end in together) - min(begin for begin, _ in together)
        for together in zip(*spans, strict=True)
    )


def _timed(arrays: FunctionArrays, passes: int, barrier: Barrier) -> list[tuple[float, float]]:
    """Begin and end of each pass; the monotonic clock is one for all processes of a machine."""
    torch.set_num_threads(1)
    embedder = embedder_of(DEFAULT_MODEL, "auto")
    embedder.embed(arrays)
    spans: list[tuple[float, float]] = []
    for _ in range(passes):
        barrier.wait()
        begin = time.monotonic()
        embedder.embed(arrays)
        spans.append((begin, time.monotonic()))
    return spans


def _without_graph(embedder: Embedder, arrays: FunctionArrays) -> Row:
    """The shipped shape against the same without its graph branch; weights do not change the time."""
    config = replace(embedder.network.config, prefix="none", branches="sequence")
    plain = Embedder(FunctionModel(config), embedder.lexical)
    ours, baseline = medians(lambda: embedder.embed(arrays), lambda: plain.embed(arrays), repeats=2, warmup=0)
    variant = f"{len(arrays):,} functions"
    return Row("bcsd: with the graph / without it", variant, "fp32", "ms", ours, baseline)


def _recall(test: pa.Table, embedder: Embedder) -> float:
    """Mean Recall@1 of the plain cosine."""
    labels = Labels(test)
    tasks = [labels.task(setting, "test") for setting in HEADLINE]
    vectors = Vectors(test, tasks, embedder, embedder.lexical)
    found = [hit_at_k(ranks(vectors.combined(task, _PLAIN), task.right).realistic, 1) for task in tasks]
    return float(np.mean(found))
