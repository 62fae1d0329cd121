"""``weft bcsd embed``: binaries to a table of embedded functions."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.bcsd.use.embed_files import EmbedReport


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft bcsd embed``."""
    from weft.cli.bcsd.embedding import add_embedding

    result = argparse.ArgumentParser(
        prog="weft bcsd embed", description="Find and embed the functions of files; write them as Parquet."
    )
    result.add_argument(
        "paths", nargs="+", metavar="FILE|DIR", help="binaries, or folders to search for them"
    )
    result.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: embeddings.parquet")
    result.add_argument(
        "--min-blocks", type=int, default=0, metavar="N", help="leave out functions with fewer blocks"
    )
    result.add_argument(
        "--ray", metavar="ADDRESS", help="work on a Ray cluster: its address, or `local` to start one here"
    )
    add_embedding(result)
    result.add_argument("--json", action="store_true", help="print one JSON object")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd embed``; exit code 9 when some files failed and others did not."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.use.embed_files import embed_files
    from weft.cli.bcsd.embedding import embedding_of
    from weft.errors import PartialFailure

    output = arguments.output or Path("embeddings.parquet")
    options = embedding_of(arguments, arguments.min_blocks)

    def tell(report: EmbedReport) -> None:
        if not arguments.quiet and report.error is None:
            print(
                f"{report.path}: {report.functions} functions, {report.seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )

    reports = embed_files(arguments.paths, output, options, tell, cluster=arguments.ray)
    failures = [report.error for report in reports if report.error is not None]
    if arguments.json:
        print(json.dumps(record(reports, output)))
    elif not arguments.quiet:
        total = sum(report.functions for report in reports)
        print(f"{total} functions of {len(reports) - len(failures)} of {len(reports)} files: {output}")
    for error in failures:
        print(f"failed: {error}", file=sys.stderr)
    if not failures:
        return 0
    return failures[0].exit_code if len(reports) == 1 else PartialFailure.exit_code


def record(reports: list[EmbedReport], output: Path) -> dict[str, Any]:
    """The object that ``--json`` prints; see ``docs/bcsd.md``."""
    return {
        "schema": 1,
        "output": str(output),
        "files": [
            {
                "binary": report.path,
                "functions": report.functions,
                "seconds": round(report.seconds, 3),
            }
            for report in reports
            if report.error is None
        ],
        "failures": [
            {"binary": report.path, "error": str(report.error), "exit_code": report.error.exit_code}
            for report in reports
            if report.error is not None
        ],
    }
