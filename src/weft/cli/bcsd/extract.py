"""``weft bcsd extract``: binaries to a table of functions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.bcsd.outputs import spare_binaries
from weft.cli.bcsd.patience import telling
from weft.cli.options import (
    Parser,
    add_cache,
    add_json,
    add_lifter,
    add_min_blocks,
    add_out,
    add_paths,
    add_quiet,
    add_reading,
    add_workers,
    at_least,
    limits_of,
    workers_of,
)

if TYPE_CHECKING:
    from weft.bcsd.use.extract_files import FileReport


def parser() -> Parser:
    """The arguments of ``weft bcsd extract``."""
    result = Parser(
        "bcsd extract",
        "Find the functions of ELF, PE and Mach-O files; write their graphs and tokens as Parquet.",
    )
    add_paths(result)
    add_out(result, "FILE", "the table", default="functions.parquet")
    add_min_blocks(result, 0)
    add_reading(result)
    add_lifter(result)
    add_cache(result)
    add_workers(result)
    add_json(result)
    add_quiet(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd extract``; exit code 9 when some files failed and others did not."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.use.extract_files import Extraction, extract
    from weft.cli.bcsd.remarks import say
    from weft.errors import PartialFailure

    at_least(0, min_blocks=arguments.min_blocks)
    limits, workers = limits_of(arguments), workers_of(arguments)
    output = arguments.out or Path("functions.parquet")
    spare_binaries([output], arguments.paths)
    options = Extraction(
        arguments.disassembler, arguments.min_blocks, workers, limits, arguments.lifter, arguments.cache
    )
    noisy = not arguments.quiet and not arguments.json
    # Where a bar shows that it goes on, no line is needed.
    silent = arguments.quiet or (noisy and sys.stderr.isatty())
    with telling("weft bcsd extract: reading", arguments.paths, quiet=silent), progress(noisy) as advance:
        reports = extract(arguments.paths, output, options, advance)
    failures = [report for report in reports if report.error is not None]
    if arguments.json:
        print(json.dumps(summary(reports, output)))
    elif noisy and len(failures) < len(reports):
        print(describe(reports, output))
    for report in reports:
        say(report.path, report.counts.remarks if report.counts is not None else ())
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
    from weft.bcsd.read.names import spelled

    files: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for report in reports:
        if report.counts is not None:
            counts = report.counts
            files.append(
                {
                    "binary": spelled(report.path),
                    "functions": counts.functions,
                    "blocks": counts.blocks,
                    "edges": counts.edges,
                    "instructions": counts.instructions,
                    "cfg_incomplete": counts.incomplete,
                    "left_out": counts.left_out,
                    "remarks": list(counts.remarks),
                    "seconds": round(report.seconds, 3),
                }
            )
        elif report.error is not None:
            code = report.error.exit_code
            told = spelled(str(report.error))
            failures.append({"binary": spelled(report.path), "error": told, "exit_code": code})
    # Where every file failed nothing is written.
    place = spelled(str(output)) if files else None
    return {"schema": 1, "output": place, "files": files, "failures": failures}


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
