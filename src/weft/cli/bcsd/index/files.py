"""``weft bcsd index``: keep an index of functions in step with files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.bcsd.embedding import add_embedding, embedding_of
from weft.cli.bcsd.patience import telling
from weft.cli.options import Parser, add_index, add_json, add_quiet
from weft.cli.table import table
from weft.errors import in_one_line

if TYPE_CHECKING:
    from weft.bcsd.index.rows import IndexedFile
    from weft.bcsd.index.update import Change


_WHAT = {
    "add": "Embed the functions of files that are not in an index yet, or have changed, and put them in.",
    "update": "Embed what changed since; take out what is gone. Without paths, every file of the index.",
    "merge": "Put the files of other indices into one; the files themselves need not be there.",
    "rm": "Take files out of an index.",
    "ls": "List the files of an index.",
}


def parser(action: str) -> Parser:
    """The arguments of ``weft bcsd index add``, ``update``, ``merge``, ``rm`` or ``ls``."""
    result = Parser(f"bcsd index {action}", _WHAT[action])
    result.add_argument(
        "paths",
        nargs="+" if action in ("add", "rm", "merge") else "*",
        metavar="INDEX" if action == "merge" else "FILE|DIR",
        help="other indices" if action == "merge" else "binaries, or folders to search for them",
    )
    add_index(result)
    if action in ("add", "update"):
        add_embedding(result)
    if action != "ls":
        add_quiet(result)
    add_json(result)
    return result


def run(argv: list[str], action: str) -> int:
    """Run it; exit code 9 when some files failed and others did not."""
    arguments = parser(action).parse_args(argv)
    from weft.bcsd.index import update

    if action == "ls":
        files = update.contents(arguments.index, arguments.paths)
        print(json.dumps(listing_record(files)) if arguments.json else listing(files))
        return 0

    def tell(change: Change) -> None:
        if not arguments.quiet and change.error is None and change.status != "unchanged":
            print(
                f"{change.status}: {in_one_line(change.binary)}: {change.functions} functions",
                file=sys.stderr,
            )

    if action == "rm":
        changes = update.remove(arguments.paths, arguments.index, tell)
    elif action == "merge":
        from weft.bcsd.index.merge import merge

        changes = merge(arguments.paths, arguments.index, tell)
    else:
        work = update.add if action == "add" else update.update
        options = embedding_of(arguments)
        asked = arguments.paths or [str(arguments.index)]
        with telling(f"weft bcsd index {action}: embedding what is new of", asked, quiet=arguments.quiet):
            changes = work(arguments.paths, arguments.index, options, tell)
    if arguments.json:
        print(json.dumps(record(changes, arguments.index)))
    elif not arguments.quiet:
        print(describe(changes, arguments.index, "taken over" if action == "merge" else "embedded"))
    return finish(changes)


def finish(changes: list[Change]) -> int:
    """List what failed, and what is to be said of the others; the exit code."""
    from weft.cli.bcsd.remarks import say
    from weft.errors import PartialFailure

    for change in changes:
        say(change.binary, change.remarks)
    failed = [change.error for change in changes if change.error is not None]
    for error in failed:
        print(f"failed: {error}", file=sys.stderr)
    if not failed:
        return 0
    return failed[0].exit_code if len(failed) == len(changes) == 1 else PartialFailure.exit_code


def record(changes: list[Change], index: Path) -> dict[str, Any]:
    """The object that ``--json`` prints; see ``docs/bcsd.md``."""
    from weft.bcsd.read.names import spelled

    return {
        "schema": 1,
        "index": spelled(str(index)),
        "files": [
            {
                "binary": spelled(change.binary),
                "status": change.status,
                "functions": change.functions,
                "remarks": list(change.remarks),
            }
            for change in changes
            if change.error is None
        ],
        "failures": [
            {
                "binary": spelled(change.binary),
                "error": spelled(str(change.error)),
                "exit_code": change.error.exit_code,
            }
            for change in changes
            if change.error is not None
        ],
    }


def describe(changes: list[Change], index: Path, done: str = "embedded") -> str:
    """One line for a person."""
    counts: dict[str, int] = {}
    for change in changes:
        counts[change.status] = counts.get(change.status, 0) + 1
    total = sum(change.functions for change in changes if change.status in ("added", "updated"))
    parts = ", ".join(f"{count} {status}" for status, count in counts.items()) or "no files"
    named = sum(change.named for change in changes)
    why = f" ({named} because a debug file came or changed)" if named else ""
    return f"{index}: {parts}{why}; {total} functions {done}"


def listing(files: list[IndexedFile]) -> str:
    """One line per file."""
    rows = [(f.functions, f.sha256[:12], f.architecture, f.binary) for f in files]
    told = f"{sum(f.functions for f in files)} functions of {len(files)} files"
    return "\n".join([table((">functions", "sha256", "architecture", "binary"), rows), told])


def listing_record(files: list[IndexedFile]) -> dict[str, Any]:
    """The same as JSON values."""
    return {"schema": 1, "files": [file._asdict() for file in files]}
