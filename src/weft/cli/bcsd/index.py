"""``weft bcsd index``: keep an index of functions in step with files."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.bcsd.index.store import IndexedFile
    from weft.bcsd.index.update import Change


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft bcsd index``."""
    from weft.cli.bcsd.embedding import add_embedding

    result = argparse.ArgumentParser(
        prog="weft bcsd index",
        description="add: put files in, or those that changed. update: work on what changed, take out what is "
        "gone; without paths on every file of the index. rm: take files out. ls: list them.",
    )
    result.add_argument("action", choices=("add", "update", "rm", "ls"))
    result.add_argument("paths", nargs="*", metavar="FILE|DIR")
    result.add_argument("--index", type=Path, required=True, metavar="DIR", help="the index")
    add_embedding(result)
    result.add_argument("--json", action="store_true", help="print one JSON object")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd index``; exit code 9 when some files failed and others did not."""
    arguments = parser().parse_args(argv)
    from weft.errors import ConfigError

    if arguments.action in ("add", "rm") and not arguments.paths:
        raise ConfigError(f"index {arguments.action} needs at least one FILE or DIR")
    from weft.bcsd.index import update
    from weft.cli.bcsd.embedding import embedding_of

    if arguments.action == "ls":
        files = update.contents(arguments.index, arguments.paths)
        print(json.dumps(listing_record(files)) if arguments.json else listing(files))
        return 0

    def tell(change: Change) -> None:
        if not arguments.quiet and change.error is None and change.status != "unchanged":
            print(f"{change.status}: {change.binary}: {change.functions} functions", file=sys.stderr)

    if arguments.action == "rm":
        changes = update.remove(arguments.paths, arguments.index, tell)
    else:
        work = update.add if arguments.action == "add" else update.update
        changes = work(arguments.paths, arguments.index, embedding_of(arguments), tell)
    if arguments.json:
        print(json.dumps(record(changes, arguments.index)))
    elif not arguments.quiet:
        print(describe(changes, arguments.index))
    return finish(changes)


def finish(changes: list[Change]) -> int:
    """List what failed; the exit code."""
    from weft.errors import PartialFailure

    failed = [change.error for change in changes if change.error is not None]
    for error in failed:
        print(f"failed: {error}", file=sys.stderr)
    if not failed:
        return 0
    return failed[0].exit_code if len(failed) == len(changes) == 1 else PartialFailure.exit_code


def record(changes: list[Change], index: Path) -> dict[str, Any]:
    """The object that ``--json`` prints; see ``docs/bcsd.md``."""
    return {
        "schema": 1,
        "index": str(index),
        "files": [
            {"binary": change.binary, "status": change.status, "functions": change.functions}
            for change in changes
            if change.error is None
        ],
        "failures": [
            {"binary": change.binary, "error": str(change.error), "exit_code": change.error.exit_code}
            for change in changes
            if change.error is not None
        ],
    }


def describe(changes: list[Change], index: Path) -> str:
    """One line for a person."""
    counts: dict[str, int] = {}
    for change in changes:
        counts[change.status] = counts.get(change.status, 0) + 1
    total = sum(change.functions for change in changes if change.status in ("added", "updated"))
    parts = ", ".join(f"{count} {status}" for status, count in counts.items()) or "no files"
    return f"{index}: {parts}; {total} functions embedded"


def listing(files: list[IndexedFile]) -> str:
    """One line per file."""
    lines = [f"{'functions':>9}  {'sha256':<12}  {'architecture':<12}  binary"]
    lines += [f"{f.functions:>9}  {f.sha256[:12]:<12}  {f.architecture:<12}  {f.binary}" for f in files]
    lines.append(f"{sum(f.functions for f in files)} functions of {len(files)} files")
    return "\n".join(lines)


def listing_record(files: list[IndexedFile]) -> dict[str, Any]:
    """The same as JSON values."""
    return {"schema": 1, "files": [file._asdict() for file in files]}
