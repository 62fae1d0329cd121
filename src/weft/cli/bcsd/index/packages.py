"""``weft bcsd index build``: an index of the static libraries of Debian packages."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.bcsd.embedding import add_embedding, embedding_of
from weft.cli.bcsd.patience import telling
from weft.cli.options import Parser, add_index, add_json, add_min_blocks, add_quiet
from weft.errors import in_one_line

if TYPE_CHECKING:
    from weft.bcsd.libraries.build import Built


def parser() -> Parser:
    """The arguments of ``weft bcsd index build``."""
    result = Parser(
        "bcsd index build",
        "Put the static libraries of Debian packages into an index, with their names and versions. Packages that are "
        "named are downloaded by apt-get, which gets a state of its own; .deb files need no network.",
    )
    result.add_argument(
        "packages", nargs="+", metavar="PACKAGE", help="NAME, NAME:ARCHITECTURE, NAME=VERSION, or a .deb file"
    )
    add_index(result)
    result.add_argument(
        "--downloads", type=Path, metavar="DIR", help="where packages are kept (INDEX.packages)"
    )
    result.add_argument(
        "--sources", type=Path, metavar="FILE", help="a sources.list (the system's own sources)"
    )
    add_min_blocks(result, 5)
    add_embedding(result)
    add_quiet(result)
    add_json(result)
    return result


def run(argv: list[str]) -> int:
    """Run it; exit code 9 when some packages failed and others did not."""
    arguments = parser().parse_args(argv)
    options = embedding_of(arguments, arguments.min_blocks)
    from weft.bcsd.libraries.build import Sources, build
    from weft.errors import PartialFailure

    work = arguments.downloads or arguments.index.with_name(arguments.index.name + ".packages")

    def tell(built: Built) -> None:
        for failure in built.failures:
            print(f"failed: {failure}", file=sys.stderr)
        if not arguments.quiet and built.status == "added":
            print(f"added: {in_one_line(built.asked)}: {built.functions} functions", file=sys.stderr)

    with telling("weft bcsd index build: embedding", arguments.packages, quiet=arguments.quiet):
        done = build(arguments.packages, arguments.index, Sources(work, arguments.sources), options, tell)
    if arguments.json:
        print(json.dumps(record(done, arguments.index)))
    elif not arguments.quiet:
        print(describe(done, arguments.index))
    failures = [failure for one in done for failure in one.failures]
    if not failures:
        return 0
    return failures[0].exit_code if len(failures) == len(done) == 1 else PartialFailure.exit_code


def record(done: list[Built], index: Path) -> dict[str, Any]:
    """The object that ``--json`` prints; see ``docs/bcsd.md``."""
    return {
        "schema": 1,
        "index": str(index),
        "packages": [
            {
                "asked": one.asked,
                "status": one.status,
                **(_named(one) if one.package is not None else {}),
                "objects": one.members,
                "functions": one.functions,
                "failures": [{"error": str(error), "exit_code": error.exit_code} for error in one.failures],
            }
            for one in done
        ],
    }


def _named(one: Built) -> dict[str, str]:
    package = one.package
    if package is None:
        return {}
    return {
        "package": package.name,
        "library": package.library,
        "version": package.version,
        "architecture": package.architecture,
    }


def describe(done: list[Built], index: Path) -> str:
    """One line for a person."""
    counts: dict[str, int] = {}
    for one in done:
        counts[one.status] = counts.get(one.status, 0) + 1
    functions = sum(one.functions for one in done if one.status == "added")
    return f"{index}: {', '.join(f'{count} {status}' for status, count in counts.items())}; {functions} functions added"
