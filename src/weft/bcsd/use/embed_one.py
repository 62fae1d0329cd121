"""One file to embedded functions, as soon as may be.

One of its functions is embedded by the process that takes the file apart; of all of them another one loads the model
meanwhile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from weft.bcsd.disassemble.choose import choose_disassembler
from weft.bcsd.lift.choose import lifter_named
from weft.bcsd.table import write_tables
from weft.bcsd.use.alone import ArrayEmbedder, fits
from weft.bcsd.use.embed_files import Embedding, EmbedFile, embed_each
from weft.bcsd.use.extract_files import Job, work_on
from weft.errors import InputError
from weft.platform.machine import use_threads
from weft.platform.memory import collect_seldom
from weft.platform.processes import run_bounded, run_loaded

#: What these processes import. Torch is not among it: it takes as long to load as a file to be taken apart.
PRELOAD = "weft.bcsd.use.embed_one"


class _Extracted(NamedTuple):
    """A file whose functions are extracted, for the process that embeds them.

    Args:
        path: The file.
        table: Where its functions are.
        rows: Where their embeddings go.
        function: Only this one, by name or address.
    """

    path: str
    table: str
    rows: str
    function: str | None

    def __str__(self) -> str:
        return self.path


def embed_one(
    path: str, options: Embedding, function: str | None = None, remarks: list[str] | None = None
) -> pa.Table:
    """The embedded functions of one file, or one of them, by way of bounded processes.

    Args:
        path: The file.
        options: How; with ``once`` by one or two processes of its own, each within the limits.
        function: Only this one, by name or address.
        remarks: Gets what a reader of the result should know about the file.

    Raises:
        InputError: The file cannot be used, there is no such function, or none of that many blocks.
        LimitError: It took too long or too much memory.
        CheckpointError: The model cannot be loaded.
    """
    choose_disassembler(options.disassembler)
    lifter_named(options.lifter)
    with tempfile.TemporaryDirectory(prefix="weft-embed-") as scratch:
        way = _by_one
        if options.once:
            way = _alone if function is not None and fits(options.model, options.precision) else _by_two
        rows, told = way(path, options, function, scratch)
    if remarks is not None:
        remarks.extend(told)
    if rows is None or not rows.num_rows:
        raise InputError(
            f"no function of at least {options.least(function)} blocks found",
            where=path,
            hint="lower min_blocks",
        )
    return rows


def _by_one(
    path: str, options: Embedding, function: str | None, scratch: str
) -> tuple[pa.Table | None, list[str]]:
    """Rows and remarks by way of a process that has what it needs from one that has loaded it for all."""
    ((report, rows),) = embed_each([path], options, Path(scratch), function)
    if report.error is not None:
        raise report.error
    return rows, list(report.remarks)


def _alone(
    path: str, options: Embedding, function: str | None, scratch: str
) -> tuple[pa.Table | None, list[str]]:
    """The row of a function, and remarks, by way of one process that loads no torch."""
    part = _Extracted(path, "", f"{scratch}/rows.parquet", function)
    (outcome,) = run_bounded(
        partial(_embed_alone, options), [part], workers=1, limits=options.limits, preload=PRELOAD
    )
    if outcome.error is not None:
        raise outcome.error
    return pq.read_table(part.rows), list(outcome.value or ())


def _embed_alone(options: Embedding, part: _Extracted) -> tuple[str, ...]:
    collect_seldom()
    embed = EmbedFile(options, ArrayEmbedder(options.model))
    rows = embed(part.path, part.function)
    write_tables([rows], Path(part.rows), rows.schema)
    return embed.remarks


def _by_two(
    path: str, options: Embedding, function: str | None, scratch: str
) -> tuple[pa.Table | None, list[str]]:
    """Rows and remarks by way of a process that takes the file apart and one that loads the model meanwhile."""
    told: list[str] = []
    part = _Extracted(path, f"{scratch}/functions.parquet", f"{scratch}/rows.parquet", function)
    (embedded,) = run_loaded(
        partial(_embedding, options),
        _extracted(part, options, told),
        workers=1,
        limits=options.limits,
        preload=PRELOAD,
    )
    if embedded.error is not None:
        raise embedded.error
    return pq.read_table(part.rows), [*told, *(embedded.value or ())]


def _extracted(part: _Extracted, options: Embedding, remarks: list[str]) -> Iterator[_Extracted]:
    """The file, once its functions are extracted."""
    least = options.least(part.function)
    how = (options.disassembler, least, options.lifter, options.cache)
    job = Job(part.path, part.table, *how, part.function)
    (outcome,) = run_bounded(work_on, [job], workers=1, limits=options.limits, preload=PRELOAD)
    if outcome.value is None:
        raise outcome.error or InputError("cannot be extracted", where=part.path)
    remarks.extend(outcome.value.remarks)
    yield part


def _embedding(options: Embedding) -> Callable[[_Extracted], tuple[str, ...]]:
    """What the process that embeds has loaded."""
    use_threads(1)
    return partial(_embed_extracted, EmbedFile(options))


def _embed_extracted(embed: EmbedFile, part: _Extracted) -> tuple[str, ...]:
    rows, remarks = embed.extracted(part.path, part.table, part.function)
    write_tables([rows], Path(part.rows), rows.schema)
    return remarks
