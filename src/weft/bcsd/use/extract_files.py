"""From files and folders to one table: the whole front end, over several bounded processes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from weft.bcsd.disassemble.choose import choose_disassembler
from weft.bcsd.disassemble.interface import Flag, Function
from weft.bcsd.lift.choose import ImageLifter, lifter_named
from weft.bcsd.read import open_image
from weft.bcsd.read.members import binaries_of, content_of, holds_members, map_file, split_member
from weft.bcsd.read.open import holds_debug_alone, sniff_format
from weft.bcsd.read.still import Still
from weft.bcsd.select import find_function
from weft.bcsd.table import TableBuilder, schema, write_tables
from weft.bcsd.use.batches import batches, each_of, run_batches
from weft.bcsd.use.remarks import file_remarks, nothing_found
from weft.bcsd.use.spared import check_table
from weft.errors import InputError, WeftError
from weft.platform.files import scratch
from weft.platform.memory import collect_seldom
from weft.platform.processes import Limits, Outcome
from weft.platform.ranges import at_least
from weft.platform.reading import open_input

_HASH_STEP = 1 << 22
#: Bytes of code up to which all functions are kept until one is chosen; as instructions they are much larger.
_KEPT = 1 << 22


@dataclass(frozen=True)
class Extraction:
    """How to extract.

    Args:
        disassembler: ``"auto"``, ``"native"``, ``"angr"``, ``"smda"``, or the path of saved functions.
        min_blocks: Functions with fewer blocks are left out.
        workers: Processes.
        limits: Time and memory per file.
        lifter: See :func:`weft.bcsd.lift.choose.lifter_named`.
        cache: See :class:`weft.bcsd.lift.choose.ImageLifter`.

    Raises:
        ConfigError: ``min_blocks`` is below 0, or ``workers`` below 1.
    """

    disassembler: str = "auto"
    min_blocks: int = 0
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    lifter: str = "auto"
    cache: bool = True

    def __post_init__(self) -> None:
        at_least(0, min_blocks=self.min_blocks)
        at_least(1, workers=self.workers)


_DEFAULT = Extraction()


@dataclass(frozen=True)
class Job:
    """One file for one worker, or one of its functions."""

    path: str
    part: str
    disassembler: str
    min_blocks: int
    lifter: str = "auto"
    cache: bool = True
    function: str | None = None

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Counts:
    """What a file gave: functions with a jump whose targets are unknown, those left out, where a debug file may be."""

    functions: int
    blocks: int
    edges: int
    instructions: int
    incomplete: int
    left_out: int
    remarks: tuple[str, ...] = ()
    looked: str = ""


@dataclass(frozen=True)
class FileReport:
    """What became of one file: ``counts`` or ``error``."""

    path: str
    counts: Counts | None
    error: WeftError | None
    seconds: float


def find_binaries(paths: Iterable[str | Path]) -> list[str]:
    """The files to work on, as :func:`sort_out` has them.

    Raises:
        InputError: A path does not exist, or a folder holds no binary.
    """
    found, empty = sort_out(paths)
    for error in empty.values():
        raise error
    return found


def sort_out(paths: Iterable[str | Path]) -> tuple[list[str], dict[str, InputError]]:
    """The files to work on: each file named, and every ELF, PE or Mach-O file in each folder named but debug files.

    Links inside a folder are not followed: they lead to the same file twice. A folder that cannot be listed is
    itself among the results, so that it is reported like a file that cannot be read.

    Returns:
        The files, and the folders that hold no binary, each with its error.

    Raises:
        InputError: A path does not exist, there is no file at all, or one path stands in place of a list.
    """
    found: list[str] = []
    empty: dict[str, InputError] = {}
    for path in listed(paths):
        if not os.path.isdir(path):
            if is_gone(path):
                raise InputError("no such file", where=path)
            found += with_members(path)
            continue
        closed: list[OSError] = []
        walk = os.walk(path, onerror=closed.append)
        inside = [os.path.join(folder, name) for folder, _, names in walk for name in names]
        binaries = [place for one in inside if _is_binary(one) for place in with_members(one)]
        binaries = sorted(binaries + [error.filename for error in closed])
        if not binaries:
            empty[path] = InputError(f"no binary among {len(inside)} files", where=path)
        found += binaries
    if not found:
        for error in empty.values():
            raise error
    # One file by two spellings is one file.
    once: dict[str, str] = {}
    for path in found:
        once.setdefault(os.path.abspath(path), path)
    return list(once.values()), empty


def listed(paths: Iterable[str | Path]) -> list[str]:
    """Paths as texts.

    Raises:
        InputError: One path stands in place of a list: its letters would be taken for paths.
    """
    if isinstance(paths, str | Path):
        raise InputError(
            "one path in place of a list of paths", where=str(paths), hint=f"give [{str(paths)!r}]"
        )
    return [os.fspath(path) for path in paths]


def is_gone(path: str) -> bool:
    """Whether nothing is there; where nobody can tell (a folder above is unreadable), something may be."""
    try:
        os.lstat(split_member(path)[0])
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def with_members(path: str) -> list[str]:
    """A file, or the binaries among its members where it is made of them."""
    return code_members(path) or [path]


def code_members(path: str) -> list[str] | None:
    """The binaries among a file's members; None where it is not made of members, or nobody can tell."""
    try:
        with open_input(path) as file:
            if not holds_members(file.read(8)):
                return None
        return binaries_of(map_file(path), path, lambda head: bool(sniff_format(head)), unlinked=True)
    except (OSError, WeftError):
        return None  # as it is, it will be reported


def _is_binary(path: str) -> bool:
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    try:
        with open_input(path) as file:
            head = file.read(8)
        kind = sniff_format(head)
        return holds_members(head) if kind is None else not holds_debug_alone(kind, map_file(path))
    except (OSError, InputError):
        # Listed as a binary, it will be reported as unreadable.
        return True


def hash_file(path: str) -> str:
    """SHA-256 of a file or of a member, in hex."""
    if split_member(path)[1] is not None:
        return hashlib.sha256(content_of(path)).hexdigest()
    digest = hashlib.sha256()
    with open_input(path) as file:
        while chunk := file.read(_HASH_STEP):
            digest.update(chunk)
    return digest.hexdigest()


def build_table(
    path: str,
    disassembler: str = "auto",
    min_blocks: int = 0,
    lifter: str = "auto",
    *,
    cache: bool = True,
    function: str | None = None,
) -> tuple[TableBuilder, Counts]:
    """Extract one file in this process.

    Args:
        path: The binary.
        disassembler: See :class:`Extraction`.
        min_blocks: Functions with fewer blocks are left out.
        lifter: See :func:`weft.bcsd.lift.choose.lifter_named`.
        cache: See :class:`weft.bcsd.lift.choose.ImageLifter`.
        function: Only this one need have a row, by name or address; of a large file others have one, too.

    Returns:
        The builder that holds the rows, and their counts.

    Raises:
        InputError: The file cannot be used or changes meanwhile, or there is no such function.
        MissingExtraError: The disassembler is not installed.
    """
    still = Still(path)
    image = open_image(path)
    chosen = choose_disassembler(disassembler)
    blocks = edges = instructions = incomplete = left_out = 0
    spans: list[tuple[int, int]] = []
    undecoded: set[tuple[int, int]] = set()
    with ImageLifter(image, lifter, cache=cache) as lifting:
        builder = TableBuilder(image, path, hash_file(path), chosen.name, lifting, min_blocks)
        only = function is not None and image.code_size <= _KEPT
        found = chosen.functions(image)
        for one in _one_first(found, function, path) if only else found:
            spans.append((one.address, one.size))
            if Flag.UNDECODED in one.flags:
                undecoded.add(spans[-1])
            if only and len(builder):
                builder.know(one)
                left_out += 1
                continue
            if not builder.add(one):
                left_out += 1
                continue
            blocks += len(one.blocks)
            edges += len(one.edges)
            instructions += len(one.instructions)
            incomplete += Flag.CFG_INCOMPLETE in one.flags
        builder.follow_calls()
    still.check()
    if not len(builder) and not left_out:
        raise nothing_found(image)
    remarks = file_remarks(image, spans, undecoded) + lifting.remarks
    sizes = len(builder), blocks, edges, instructions, incomplete, left_out
    return builder, Counts(*sizes, remarks=remarks, looked=image.looked_text)


def _one_first(found: Iterator[Function], wanted: str | None, path: str) -> list[Function]:
    """All functions, one of them, by name or address, in front of the others."""
    functions = sorted(found, key=lambda one: (one.address, one.size))
    if functions and wanted is not None:
        functions.insert(0, functions.pop(find_function(functions, wanted, path)))
    return functions


def work_on(job: Job) -> Counts:
    """What a worker process does with one file: write its rows to a part of the table."""
    builder, counts = _build(job)
    _write(job, [builder])
    return counts


def _work_on(batch: tuple[Job, ...]) -> list[Outcome[Job, Counts]]:
    """The same of a batch, whose rows are one part."""
    builders: list[TableBuilder] = []

    def one(job: Job) -> Counts:
        builder, counts = _build(job)
        builders.append(builder)
        return counts

    done = each_of(one, batch)
    _write(batch[0], builders)
    return done


def _build(job: Job) -> tuple[TableBuilder, Counts]:
    collect_seldom()
    how = (job.disassembler, job.min_blocks, job.lifter)
    return build_table(job.path, *how, cache=job.cache, function=job.function)


def _write(job: Job, builders: Sequence[TableBuilder]) -> None:
    name = choose_disassembler(job.disassembler).name
    tables = chain.from_iterable(builder.tables() for builder in builders)
    write_tables(tables, Path(job.part), schema(name, lifter_named(job.lifter)))


def extract(
    paths: Iterable[str | Path],
    output: str | Path | None,
    options: Extraction = _DEFAULT,
    progress: Callable[[FileReport], None] = lambda report: None,
) -> list[FileReport]:
    """Extract files and folders to one Parquet file.

    Args:
        paths: Files and folders.
        output: The table to write, unless every file fails; None to count only.
        options: How.
        progress: Called after each file.

    Returns:
        One report per file, in order, after one for each folder without a binary. What failed is not in the table.

    Raises:
        InputError: A path that cannot be worked on at all.
        ConfigError: The output is one of the files.
        OutputError: The output cannot be written.
    """
    output = None if output is None else Path(output)
    files, empty = sort_out(paths)
    # Tells at once, not once per file, that an extra is missing.
    name = choose_disassembler(options.disassembler).name
    lifter = lifter_named(options.lifter)
    check_table(output, files)
    reports = [FileReport(path, None, error, 0.0) for path, error in empty.items()]
    for report in reports:
        progress(report)
    with scratch(output) as parts:
        jobs = [
            Job(
                path,
                os.path.join(parts, f"{number}.parquet"),
                options.disassembler,
                options.min_blocks,
                options.lifter,
                options.cache,
            )
            for number, path in enumerate(files)
        ]
        grouped = batches(jobs, lambda job: job.path, options.workers)
        outcomes = run_batches(_work_on, grouped, workers=options.workers, limits=options.limits)
        tables = _parts(outcomes, reports, progress)
        first = next(tables, None)
        if output is not None and (first is not None or any(report.counts for report in reports)):
            # Nothing is written where every file failed: an older table stays.
            write_tables(chain([] if first is None else [first], tables), output, schema(name, lifter))
        for _ in tables:
            pass
    return reports


def _parts(
    outcomes: Iterator[Outcome[tuple[Job, ...], list[Outcome[Job, Counts]]]],
    reports: list[FileReport],
    progress: Callable[[FileReport], None],
) -> Iterator[pa.Table]:
    """Read each finished part, a row group at a time, and remove it."""
    for outcome in outcomes:
        first = outcome.item[0]
        for job, done in zip(outcome.item, outcome.value or [None], strict=True):
            error = outcome.error if done is None else done.error
            seconds = outcome.seconds if done is None else done.seconds
            report = FileReport(job.path, None if done is None else done.value, error, seconds)
            reports.append(report)
            progress(report)
        if outcome.value is None:
            continue
        with pq.ParquetFile(first.part) as part:
            for group in range(part.num_row_groups):
                yield part.read_row_group(group)
        os.unlink(first.part)
