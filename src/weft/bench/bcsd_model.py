"""`weft bench bcsd-model`: functions embedded per second, what half precision costs, what the graph costs.

Reads the functions of the test packages from ``functions.parquet`` in the folder that ``WEFT_BCSD_WORK`` names
(`weft bcsd dataset build … --work`); without it there are no rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from weft.bcsd.evaluate.report import Vectors
from weft.bcsd.evaluate.tasks import COLUMNS, HEADLINE, Labels
from weft.bcsd.model.function_model import FunctionModel
from weft.bcsd.represent.arrays import FunctionArrays
from weft.bcsd.table import read_table
from weft.bcsd.use.embedder import Embedder, Precision
from weft.bench.measure import medians
from weft.bench.table import Row
from weft.objective.metrics import hit_at_k, ranks

RATE = 600.0
_FEW = 500


def rows(quick: bool = False) -> Iterator[Row]:
    """Every row of the table; ``quick`` embeds few functions."""
    named = os.environ.get("WEFT_BCSD_WORK")
    if not named or not (Path(named) / "functions.parquet").is_file():
        return
    functions = read_table(Path(named) / "functions.parquet", list(COLUMNS))
    test = functions.filter(pc.field("role") == "test")
    builds = ("gcc-O0-x86_64", "gcc-O2-aarch64", "gcc-O2-x86_64")
    chosen = test.filter(pc.field("build").isin(builds))
    arrays = FunctionArrays.from_table(chosen.slice(0, _FEW) if quick else chosen)
    repeats = 1 if quick else 3
    single, half = (_embedder(precision) for precision in ("fp32", "bf16"))
    times = medians(lambda: half.embed(arrays), lambda: single.embed(arrays), repeats, warmup=1)
    threads = torch.get_num_threads()
    variant = f"{len(arrays):,} functions of the test packages, {threads} threads"
    for precision, milliseconds in zip(("bf16", "fp32"), times, strict=True):
        # Processor time of all threads: on an idle machine the wall clock shows a threads-th of it.
        rate = len(arrays) * threads / (milliseconds / 1e3)
        yield Row("bcsd: functions embedded", variant, precision, "1/s", rate, 1.0, "higher", RATE)
    yield _without_graph(single, arrays, repeats)
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


def _embedder(precision: Precision) -> Embedder:
    return Embedder.load(precision=precision)


def _without_graph(embedder: Embedder, arrays: FunctionArrays, repeats: int) -> Row:
    """The shipped shape against the same without its graph branch; weights do not change the time."""
    config = replace(embedder.network.config, prefix="none", branches="sequence")
    plain = Embedder(FunctionModel(config), embedder.lexical)
    ours, baseline = medians(lambda: embedder.embed(arrays), lambda: plain.embed(arrays), repeats, warmup=1)
    variant = f"{len(arrays):,} functions"
    return Row("bcsd: with the graph / without it", variant, "fp32", "ms", ours, baseline)


def _recall(test: pa.Table, embedder: Embedder) -> float:
    """Mean Recall@1 of the plain cosine."""
    labels = Labels(test)
    tasks = [labels.task(setting, "test") for setting in HEADLINE]
    vectors = Vectors(test, tasks, embedder, embedder.lexical)
    found = [hit_at_k(ranks(vectors.combined(task, 0.0), task.right).realistic, 1) for task in tasks]
    return float(np.mean(found))
