"""``weft bcsd search``: which functions of an index are those of a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from weft.cli.bcsd.embedding import add_embedding, embedding_of
from weft.cli.bcsd.patience import telling
from weft.cli.options import (
    Parser,
    add_index,
    add_min_blocks,
    add_quiet,
    add_selector,
    add_shapes,
    at_least,
    share,
)
from weft.cli.table import table
from weft.platform.spreadsheet import write_rows

if TYPE_CHECKING:
    from weft.bcsd.use.search.answers import Answer

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
    "library",
    "version",
    "query_not_here",
)


def parser() -> Parser:
    """The arguments of ``weft bcsd search``."""
    result = Parser(
        "bcsd search",
        "For each function of a file, or for one, the functions of an index that are most alike.",
    )
    add_selector(result)
    add_index(result)
    result.add_argument("-k", "--hits", type=int, default=10, metavar="N", help="hits per function (10)")
    result.add_argument(
        "--at-least", type=float, default=0.0, metavar="P", help="leave out hits that are less sure (0)"
    )
    add_min_blocks(result, 5, one=True)
    add_embedding(result, workers=False)
    add_shapes(result)
    add_quiet(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd search``."""
    arguments = parser().parse_args(argv)
    from weft.bcsd.select import parse_selector

    at_least(1, hits=arguments.hits)
    share(at_least=arguments.at_least)
    selector = parse_selector(arguments.selector)
    options = embedding_of(arguments, arguments.min_blocks, once=True)
    from weft.bcsd.read.names import spelled
    from weft.bcsd.use.search.answers import sure_enough
    from weft.bcsd.use.search.files import search_file
    from weft.bcsd.use.search.record import search_record, with_readable
    from weft.cli.bcsd.remarks import say

    with telling("weft bcsd search: looking up", [selector.path], quiet=arguments.quiet):
        found = search_file(
            selector.path, selector.function, arguments.index, options, arguments.hits, arguments.min_blocks
        )
    say(selector.path, found.remarks)
    answers = sure_enough(found.answers, arguments.at_least)
    if arguments.json:
        head: dict[str, Any] = {
            "index": spelled(str(arguments.index)),
            "model": found.model,
            "rows": found.rows,
        }
        head["remarks"] = list(found.remarks)
        print(json.dumps(search_record(answers, selector.path, head)))
    elif arguments.csv:
        write_csv(answers, sys.stdout)
    else:
        shown = hidden = 0
        for answer, readable in with_readable(answers):
            if answer.hits or not arguments.at_least:
                print(describe(answer, readable))
                shown += 1
            else:
                hidden += 1
        if hidden and not (arguments.quiet and shown):
            print(f"{hidden} functions have no hit that is at least {arguments.at_least:g} sure")
    return 0


def write_csv(answers: Iterable[Answer], file: TextIO) -> None:
    """One line per hit, under a header; flags are joined by semicolons."""
    write_rows(file, [CSV_COLUMNS])
    for answer in answers:
        asked = (answer.name, answer.address, answer.size, answer.blocks)
        for hit in answer.hits:
            fields = hit._asdict()
            fields |= {"flags": ";".join(hit.flags), "query_not_here": answer.not_here}
            write_rows(file, [[*asked, *(fields[name] for name in CSV_COLUMNS[len(asked) :])]])


def describe(answer: Answer, readable: Mapping[str, str]) -> str:
    """One function and its hits for a person, with names as programmers write them."""
    flags = f"  [{', '.join(answer.flags)}]" if answer.flags else ""
    name = readable.get(answer.name, answer.name)
    absent = "" if answer.not_here is None else f"; not here: {answer.not_here:.2f}"
    head = f"{name} at {answer.address:#x}, {answer.size} bytes, {answer.blocks} blocks{flags}{absent}"
    if not answer.hits:
        return f"{head}\nnothing of that size in the index"
    rows = [
        (
            hit.rank,
            f"{hit.confidence:.2f}",
            f"{hit.score:.4f}",
            f"{hit.address:#x}",
            hit.blocks,
            readable.get(hit.name, hit.name),
            f"{hit.library} {hit.version}" if hit.library else hit.binary,
            ", ".join(hit.flags),
        )
        for hit in answer.hits
    ]
    heads = (">rank", ">sure", ">score", ">address", ">blocks", "name", "binary or library", "remarks")
    return f"{head}\n{table(heads, rows)}\n"
