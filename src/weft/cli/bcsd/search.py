"""``weft bcsd search``: which functions of an index are those of a file."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from weft.bcsd.use.search import Answer

CSV_COLUMNS = (
    "query_name",
    "query_address",
    "query_size",
    "query_blocks",
    "rank",
    "score",
    "confidence",
    "name",
    "address",
    "size",
    "blocks",
    "binary",
    "architecture",
    "flags",
)


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft bcsd search``."""
    from weft.cli.bcsd.embedding import add_embedding

    result = argparse.ArgumentParser(
        prog="weft bcsd search",
        description="For each function of a file, or for one, the functions of an index that are most alike.",
    )
    result.add_argument("selector", metavar="FILE[:FUNCTION|@ADDRESS]")
    result.add_argument("--index", type=Path, required=True, metavar="DIR", help="the index")
    result.add_argument("-k", type=int, default=10, metavar="N", help="hits per function (10)")
    result.add_argument(
        "--min-blocks",
        type=int,
        default=5,
        metavar="N",
        help="pass over functions with fewer blocks, but for one that is named (5)",
    )
    add_embedding(result, workers=False)
    output = result.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print one JSON object")
    output.add_argument("--csv", action="store_true", help="print one line per hit")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd search``."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.select import parse_selector
    from weft.cli.bcsd.embedding import embedding_of
    from weft.errors import ConfigError

    if arguments.k < 1:
        raise ConfigError(f"-k is {arguments.k}; it must be at least 1")
    selector = parse_selector(arguments.selector)
    options = embedding_of(arguments, arguments.min_blocks)
    from weft.bcsd.use.search import search_file

    found = search_file(
        selector.path, selector.function, arguments.index, options, arguments.k, arguments.min_blocks
    )
    if arguments.json:
        head = {"index": str(arguments.index), "model": found.model, "rows": found.rows}
        print(json.dumps(record(found.answers, selector.path, head)))
    elif arguments.csv:
        write_csv(found.answers, sys.stdout)
    else:
        for answer in found.answers:
            print(describe(answer))
    return 0


def record(answers: Iterable[Answer], path: str, head: dict[str, Any]) -> dict[str, Any]:
    """The object that ``--json`` prints; see ``docs/bcsd.md``."""
    queries = [{**answer._asdict(), "hits": [hit._asdict() for hit in answer.hits]} for answer in answers]
    return {"schema": 1, **head, "binary": path, "queries": queries}


def write_csv(answers: Iterable[Answer], file: TextIO) -> None:
    """One line per hit, under a header; flags are joined by semicolons."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for answer in answers:
        asked = (answer.name, answer.address, answer.size, answer.blocks)
        for hit in answer.hits:
            fields = hit._asdict()
            fields["flags"] = ";".join(hit.flags)
            writer.writerow([*asked, *(fields[name] for name in CSV_COLUMNS[len(asked) :])])


def describe(answer: Answer) -> str:
    """One function and its hits for a person."""
    flags = f"  [{', '.join(answer.flags)}]" if answer.flags else ""
    lines = [f"{answer.name} at {answer.address:#x}, {answer.size} bytes, {answer.blocks} blocks{flags}"]
    if not answer.hits:
        lines.append("  nothing of that size in the index")
    for hit in answer.hits:
        remarks = f"  [{', '.join(hit.flags)}]" if hit.flags else ""
        lines.append(
            f"  {hit.rank:>3}  {hit.score:.4f}  {hit.confidence:>4.0%}  {hit.address:#10x}  {hit.blocks:>4}  "
            f"{hit.name}  {hit.binary}{remarks}"
        )
    return "\n".join(lines)
