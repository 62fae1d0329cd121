"""``weft bcsd extract``: binaries to a table of functions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.bcsd.use.extract_files import FileReport


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft bcsd extract``."""
    result = argparse.ArgumentParser(
        prog="weft bcsd extract",
        description="Find the functions of ELF, PE and Mach-O files; write their graphs and tokens as Parquet.",
    )
    result.add_argument(
        "paths", nargs="+", metavar="FILE|DIR", help="binaries, or folders to search for them"
    )
    result.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: functions.parquet")
    result.add_argument(
        "--disassembler",
        default="auto",
        metavar="NAME",
        help="auto, native, angr, smda, or a file of saved functions",
    )
    result.add_argument(
        "--min-blocks", type=int, default=0, metavar="N", help="leave out functions with fewer blocks"
    )
    result.add_argument("--workers", type=int, metavar="N", help="processes (default: one per core)")
    result.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds per file (600)")
    result.add_argument(
        "--memory", type=int, default=4096, metavar="MIB", help="address space per file (4096)"
    )
    result.add_argument(
        "--json", action="store_true", help="print one JSON object with the counts of each file"
    )
    result.add_argument("--quiet", action="store_true", help="no progress and no summary")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd extract``; exit code 9 when some files failed and others did not."""
    arguments = parser().parse_args(argv)
    import os

    from weft.bcsd.use.extract_files import Extraction, extract
    from weft.errors import ConfigError, PartialFailure
    from weft.platform.processes import Limits

    workers = arguments.workers if arguments.workers is not None else len(os.sched_getaffinity(0))
    rules = (
        ("--min-blocks", arguments.min_blocks, 0),
        ("--workers", workers, 1),
        ("--memory", arguments.memory, 256),
    )
    for option, value, least in rules:
        if value < least:
            raise ConfigError(f"{option} is {value}; it must be at least {least}")
    if not arguments.timeout > 0:
        raise ConfigError(f"--timeout is {arguments.timeout}; it must be above 0")
    output = arguments.output or Path("functions.parquet")
    options = Extraction(
        arguments.disassembler, arguments.min_blocks, workers, Limits(arguments.timeout, arguments.memory)
    )
    noisy = not arguments.quiet and not arguments.json
    with progress(noisy) as advance:
        reports = extract(arguments.paths, output, options, advance)
    failures = [report for report in reports if report.error is not None]
    if arguments.json:
        print(json.dumps(summary(reports, output)))
    elif noisy and len(failures) < len(reports):
        print(describe(reports, output))
    for report in failures:
        print(f"failed: {report.error}", file=sys.stderr)
    if len(failures) == len(reports) and failures[0].error is not None:
        if len(failures) == 1:
            return failures[0].error.exit_code
        raise PartialFailure(f"none of {len(reports)} files could be read; nothing is written")
    return PartialFailure.exit_code if failures else 0


class progress:  # noqa: N801 - used as a context manager, in lower case like open()
    """A bar on the error stream, where that is a terminal."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()

    def __enter__(self) -> Callable[[FileReport], None]:
        """Start; what is returned takes each report."""
        if not self._wanted:
            return lambda report: None
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        task = self._bar.add_task("extracting", total=None)

        def advance(report: FileReport) -> None:
            self._bar.update(task, advance=1, description=Path(report.path).name[:40])

        return advance

    def __exit__(self, *exception: object) -> None:
        """Take the bar away."""
        if self._wanted:
            self._bar.stop()


def summary(reports: list[FileReport], output: Path) -> dict[str, Any]:
    """The object that ``--json`` prints; see ``docs/bcsd.md``."""
    files: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for report in reports:
        if report.counts is not None:
            counts = report.counts
            files.append(
                {
                    "binary": report.path,
                    "functions": counts.functions,
                    "blocks": counts.blocks,
                    "edges": counts.edges,
                    "instructions": counts.instructions,
                    "cfg_incomplete": counts.incomplete,
                    "left_out": counts.left_out,
                    "seconds": round(report.seconds, 3),
                }
            )
        elif report.error is not None:
            code = report.error.exit_code
            failures.append({"binary": report.path, "error": str(report.error), "exit_code": code})
    # Where every file failed nothing is written.
    return {"schema": 1, "output": str(output) if files else None, "files": files, "failures": failures}


def describe(reports: list[FileReport], output: Path) -> str:
    """The closing lines for a person."""
    counts = [report.counts for report in reports if report.counts is not None]
    functions = sum(c.functions for c in counts)
    incomplete = sum(c.incomplete for c in counts)
    left_out = sum(c.left_out for c in counts)
    lines = [
        f"{functions} functions, {sum(c.blocks for c in counts)} blocks, {sum(c.edges for c in counts)} edges, "
        f"{sum(c.instructions for c in counts)} instructions from {len(counts)} of {len(reports)} files: {output}",
        f"{incomplete} functions with an indirect jump left unresolved (cfg_incomplete)",
    ]
    if left_out:
        lines.append(f"{left_out} functions left out by --min-blocks")
    return "\n".join(lines)
