"""Files to embedded functions: in several bounded processes, or on a Ray cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from weft.bcsd.disassemble.choose import choose_disassembler
from weft.bcsd.lift.choose import lifter_named
from weft.bcsd.select import find_function
from weft.bcsd.table import write_tables
from weft.bcsd.use.batches import batches, each_of, run_batches
from weft.bcsd.use.embedded import embed_table, embedded_schema
from weft.bcsd.use.extract_files import build_table, sort_out
from weft.bcsd.use.named import DEFAULT_MODEL, Precision, check_precision
from weft.bcsd.use.remarks import processor_remarks
from weft.bcsd.use.spared import check_table
from weft.errors import WeftError
from weft.platform.machine import use_threads
from weft.platform.memory import collect_seldom
from weft.platform.processes import Limits, Outcome
from weft.platform.processes.cluster import Cluster
from weft.platform.ranges import at_least

if TYPE_CHECKING:
    from weft.bcsd.use.alone import ArrayEmbedder
    from weft.bcsd.use.embedder import Embedder

#: Torch takes a second to load: the processes that embed need it, and not who waits for them.
_PRELOAD = "weft.bcsd.use.embedder"


@dataclass(frozen=True)
class Embedding:
    """How to embed files.

    Args:
        model: Name or directory of the model.
        disassembler: See :class:`weft.bcsd.use.extract_files.Extraction`.
        min_blocks: Functions with fewer blocks are left out.
        precision: See :class:`weft.bcsd.use.embedder.Embedder`.
        workers: Processes, of one thread each.
        limits: Time and memory per file.
        lifter: See :func:`weft.bcsd.lift.choose.lifter_named`.
        cache: See :class:`weft.bcsd.lift.choose.ImageLifter`.
        callees: Whether rows hold what callees would add.
        calls: Whether rows say what functions call.
        once: Whoever asks will ask for one file and no more, so that nothing need be loaded for others.

    Raises:
        ConfigError: ``min_blocks`` is below 0, ``workers`` below 1, or ``precision`` none.
    """

    model: str = DEFAULT_MODEL
    disassembler: str = "auto"
    min_blocks: int = 0
    precision: Precision = "auto"
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    lifter: str = "auto"
    cache: bool = True
    callees: bool = True
    calls: bool = True
    once: bool = False

    def __post_init__(self) -> None:
        at_least(0, min_blocks=self.min_blocks)
        at_least(1, workers=self.workers)
        check_precision(self.precision)

    def least(self, function: str | None) -> int:
        """Blocks that a function has at least, where all are wanted or this one."""
        return self.min_blocks if function is None else 0


_DEFAULT = Embedding()


class Job(NamedTuple):
    """One file, or one of its functions, for one worker; files of one batch write to one part."""

    path: str
    part: str
    options: Embedding
    function: str | None = None

    def __str__(self) -> str:
        return self.path


class _Done(NamedTuple):
    """What became of a job: its rows in the part, or its error."""

    functions: int
    remarks: tuple[str, ...]
    error: WeftError | None
    seconds: float
    looked: str


class EmbedReport(NamedTuple):
    """What became of one file: the number of its functions, or its error; what a reader of either should know.

    ``looked``: see :class:`weft.bcsd.use.extract_files.Counts`.
    """

    path: str
    functions: int
    error: WeftError | None
    seconds: float
    remarks: tuple[str, ...] = ()
    looked: str = ""


class _Listed(NamedTuple):
    name: str
    address: int
    size: int
    aliases: list[str]


@lru_cache(maxsize=1)
def embedder_of(model: str, precision: Precision) -> Embedder:
    """The model, loaded once in each process."""
    from weft.bcsd.use.embedder import Embedder

    return Embedder.load(model, precision=precision)


class EmbedFile:
    """A path becomes the embedded functions of the file: what every worker runs, wherever it is.

    Args:
        options: How.
        embedder: By what; the options' model where None.

    Raises:
        CheckpointError: The model cannot be loaded.
    """

    def __init__(self, options: Embedding, embedder: ArrayEmbedder | None = None) -> None:
        self._options = options
        self._embedder = embedder or embedder_of(options.model, options.precision)
        #: On the file that was embedded last.
        self.remarks: tuple[str, ...] = ()
        #: Where the debug file of that one was looked for.
        self.looked = ""

    def __call__(self, path: str, function: str | None = None) -> pa.Table:
        """Extract and embed one file.

        Args:
            path: The file.
            function: Only this one, by name or address.

        Returns:
            A table of :func:`weft.bcsd.use.embedded.embedded_schema`, by address.

        Raises:
            InputError: The file cannot be used, or there is no such function.
        """
        options = self._options
        least = options.least(function)
        how = (options.disassembler, least, options.lifter)
        builder, counts = build_table(path, *how, cache=options.cache, function=function)
        self.looked = counts.looked
        self.remarks = counts.remarks + processor_remarks(builder.architecture, self._embedder.trained)
        return self._joined(builder.tables(), function, path)

    def extracted(
        self, path: str, table: str, function: str | None = None
    ) -> tuple[pa.Table, tuple[str, ...]]:
        """Embed a file whose functions are extracted: its rows, and remarks on its processor.

        Args:
            path: The file.
            table: Where its functions are, a Parquet file of the extraction's schema.
            function: Only this one, by name or address.

        Raises:
            InputError: There is no such function.
        """
        with pq.ParquetFile(table) as file:
            tables = [file.read_row_group(group) for group in range(file.num_row_groups)]
        processors = {name for table in tables for name in table.column("architecture").unique().to_pylist()}
        said = [remark for name in processors for remark in processor_remarks(name, self._embedder.trained)]
        return self._joined(iter(tables), function, path), tuple(said)

    def _joined(self, found: Iterator[pa.Table], function: str | None, path: str) -> pa.Table:
        tables = [self._embed(table, function, path) for table in _whole(found, function)]
        if not tables:
            lifter = lifter_named(self._options.lifter)
            return embedded_schema(self._embedder.dimension, self._embedder.version, lifter).empty_table()
        return pa.concat_tables(tables)

    def _embed(self, functions: pa.Table, wanted: str | None, path: str) -> pa.Table:
        if wanted is not None:
            columns = (functions.column(name).to_pylist() for name in _Listed._fields)
            listed = [_Listed(*values) for values in zip(*columns, strict=True)]
            functions = functions.slice(find_function(listed, wanted, path), 1)
        return embed_table(
            functions, self._embedder, callees=self._options.callees, calls=self._options.calls
        )


def _whole(tables: Iterator[pa.Table], function: str | None) -> Iterator[pa.Table]:
    """The tables as they come; as one, where a function is to be looked up among all."""
    if function is None:
        yield from tables
    elif parts := list(tables):
        yield pa.concat_tables(parts)


def _work_on(batch: tuple[Job, ...]) -> list[_Done]:
    collect_seldom()
    use_threads(1)
    embed = EmbedFile(batch[0].options)
    done: list[_Done] = []
    rows: list[pa.Table] = []
    for outcome in each_of(lambda job: (embed(job.path, job.function), embed.remarks, embed.looked), batch):
        table, remarks, looked = outcome.value or (None, (), "")
        if table is not None:
            rows.append(table)
        count = 0 if table is None else table.num_rows
        done.append(_Done(count, remarks, outcome.error, outcome.seconds, looked))
    if rows:
        write_tables(rows, Path(batch[0].part), rows[0].schema)
    return done


def embed_each(
    paths: Sequence[str], options: Embedding, scratch: Path, function: str | None = None
) -> Iterator[tuple[EmbedReport, pa.Table | None]]:
    """Embed files in bounded processes, one after another as they are done.

    Args:
        paths: The files.
        options: How.
        scratch: A folder for what the processes hand over.
        function: Only this function of each file.

    Yields:
        Each file's report and rows, in the order of ``paths``.
    """
    jobs = [
        Job(path, str(scratch / f"{number}.parquet"), options, function) for number, path in enumerate(paths)
    ]
    grouped = batches(jobs, lambda job: job.path, options.workers)
    for outcome in run_batches(
        _work_on, grouped, workers=options.workers, limits=options.limits, preload=_PRELOAD
    ):
        if outcome.value is None:
            # A batch that fails as a whole is one job.
            yield EmbedReport(outcome.item[0].path, 0, outcome.error, outcome.seconds), None
            continue
        part = outcome.item[0].part
        rows = pq.read_table(part) if any(done.error is None for done in outcome.value) else None
        first = 0
        for job, done in zip(outcome.item, outcome.value, strict=True):
            report = EmbedReport(
                job.path, done.functions, done.error, done.seconds, done.remarks, done.looked
            )
            yield (
                report,
                None if rows is None or done.error is not None else rows.slice(first, done.functions),
            )
            first += done.functions
        if rows is not None:
            os.unlink(part)


def embed_files(
    paths: Iterable[str | Path],
    output: str | Path,
    options: Embedding = _DEFAULT,
    progress: Callable[[EmbedReport], None] = lambda report: None,
    *,
    cluster: str | None = None,
) -> list[EmbedReport]:
    """Embed files and folders to one Parquet file.

    Args:
        paths: Files and folders.
        output: The table to write; left alone where every file fails.
        options: How.
        progress: Called after each file.
        cluster: Address of a Ray cluster to work on, without limits of time and memory; the files must lie at the
            same paths on every node.

    Returns:
        One report per file, in order, after one for each folder that holds no binary. A file that failed is in the
        list, not in the table.

    Raises:
        InputError: A path that cannot be worked on at all.
        CheckpointError: The model cannot be loaded.
        OutputError: The output cannot be written.
        MissingExtraError: A cluster is asked for, and Ray is not installed.
        ConfigError: No cluster at that address; the output is one of the files.
    """
    there = None if cluster is None else Cluster(cluster, options.workers)
    files, empty = sort_out(paths)
    check_table(Path(output), files)
    reports = [EmbedReport(path, 0, error, 0.0) for path, error in empty.items()]
    choose_disassembler(options.disassembler)
    embedder_of(options.model, options.precision)
    if there is not None:
        done = there.run(partial(_on_node, options), files)
        return _write(map(_embedded, done), Path(output), options, progress, reports)
    with tempfile.TemporaryDirectory(prefix="weft-embed-") as scratch:
        return _write(embed_each(files, options, Path(scratch)), Path(output), options, progress, reports)


def _on_node(options: Embedding) -> Callable[[str], tuple[pa.Table, tuple[str, ...]]]:
    use_threads(1)
    embed = EmbedFile(options)
    return lambda path: (embed(path), embed.remarks)


def _embedded(
    outcome: Outcome[str, tuple[pa.Table, tuple[str, ...]]],
) -> tuple[EmbedReport, pa.Table | None]:
    rows, remarks = outcome.value if outcome.value is not None else (None, ())
    count = 0 if rows is None else rows.num_rows
    return EmbedReport(outcome.item, count, outcome.error, outcome.seconds, remarks), rows


def _write(
    files: Iterator[tuple[EmbedReport, pa.Table | None]],
    output: Path,
    options: Embedding,
    progress: Callable[[EmbedReport], None],
    reports: list[EmbedReport],
) -> list[EmbedReport]:
    """Write the rows of files as they come; the output is replaced when all are there, if any is.

    Args:
        files: Each with its rows; those of a file that failed are None.
        output: The table.
        options: How.
        progress: Called with each report.
        reports: Of what was not worked on; gets those of the files.

    Raises:
        OutputError: The output cannot be written.
    """
    embedder = embedder_of(options.model, options.precision)
    for report in reports:
        progress(report)

    def tables() -> Iterator[pa.Table]:
        for report, rows in files:
            reports.append(report)
            progress(report)
            if rows is not None:
                yield rows

    full = embedded_schema(embedder.dimension, embedder.version, lifter_named(options.lifter))
    write_tables(tables(), output, full, wanted=lambda: any(report.error is None for report in reports))
    return reports
