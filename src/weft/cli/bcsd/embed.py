"""``weft bcsd embed``: binaries to a table of embedded functions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.bcsd.embedding import add_embedding, embedding_of
from weft.cli.bcsd.outputs import spare_binaries
from weft.cli.bcsd.patience import telling
from weft.cli.options import Parser, add_json, add_min_blocks, add_out, add_paths, add_quiet, add_ray
from weft.errors import in_one_line

if TYPE_CHECKING:
    from weft.bcsd.use.embed_files import EmbedReport


def parser() -> Parser:
    """The arguments of ``weft bcsd embed``."""
    result = Parser("bcsd embed", "Find and embed the functions of files; write them as Parquet.")
    add_paths(result)
    add_out(result, "FILE", "the table", default="embeddings.parquet")
    add_min_blocks(result, 0)
    add_embedding(result)
    add_ray(result)
    add_json(result)
    add_quiet(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd embed``; exit code 9 when some files failed and others did not."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.use.embed_files import embed_files
    from weft.cli.bcsd.remarks import say
    from weft.errors import PartialFailure

    output = arguments.out or Path("embeddings.parquet")
    spare_binaries([output], arguments.paths)
    options = embedding_of(arguments, arguments.min_blocks)

    def tell(report: EmbedReport) -> None:
        if not arguments.quiet and report.error is None:
            print(
                f"{in_one_line(report.path)}: {report.functions} functions, {report.seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )

    with telling("weft bcsd embed: embedding", arguments.paths, quiet=arguments.quiet):
        reports = embed_files(arguments.paths, output, options, tell, cluster=arguments.ray)
    failures = [report.error for report in reports if report.error is not None]
    if arguments.json:
        print(json.dumps(record(reports, output)))
    elif not arguments.quiet:
        total = sum(report.functions for report in reports)
        where = output if len(failures) < len(reports) else "nothing is written"
        print(f"{total} functions of {len(reports) - len(failures)} of {len(reports)} files: {where}")
    for report in reports:
        say(report.path, report.remarks)
    for error in failures:
        print(f"failed: {error}", file=sys.stderr)
    if not failures:
        return 0
    return failures[0].exit_code if len(reports) == 1 else PartialFailure.exit_code


def record(reports: list[EmbedReport], output: Path) -> dict[str, Any]:
    """The object that ``--json`` prints; see ``docs/bcsd.md``."""
    from weft.bcsd.read.names import spelled

    return {
        "schema": 1,
        "output": spelled(str(output)) if any(report.error is None for report in reports) else None,
        "files": [
            {
                "binary": spelled(report.path),
                "functions": report.functions,
                "seconds": round(report.seconds, 3),
                "remarks": list(report.remarks),
            }
            for report in reports
            if report.error is None
        ],
        "failures": [
            {
                "binary": spelled(report.path),
                "error": spelled(str(report.error)),
                "exit_code": report.error.exit_code,
            }
            for report in reports
            if report.error is not None
        ],
    }
