"""``weft bcsd identify``: which libraries a program was linked from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from weft.cli.bcsd.embedding import add_embedding, embedding_of
from weft.cli.bcsd.patience import telling
from weft.cli.options import Parser, add_index, add_min_blocks, add_quiet, at_least
from weft.cli.table import table

if TYPE_CHECKING:
    from weft.bcsd.components.identify import Identified


def parser() -> Parser:
    """The arguments of ``weft bcsd identify``."""
    result = Parser(
        "bcsd identify",
        "Which libraries of an index a program holds, in which versions, and what of it none of them explains.",
        further="call it again for each",
    )
    result.add_argument("file", metavar="FILE", help="an executable, a shared library, an object")
    add_index(result)
    add_min_blocks(result, 5)
    add_embedding(result, workers=False)
    shape = result.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--cyclonedx", action="store_true", help="print a CycloneDX 1.6 bill of materials")
    add_quiet(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft bcsd identify``."""
    arguments = parser().parse_args(argv)
    at_least(1, min_blocks=arguments.min_blocks)
    options = embedding_of(arguments, arguments.min_blocks, once=True)
    from weft.bcsd.components.cyclonedx import bill
    from weft.bcsd.components.identify import identify
    from weft.bcsd.components.record import identified_record
    from weft.cli.bcsd.remarks import say

    with telling(
        "weft bcsd identify: searching for the functions of", [arguments.file], quiet=arguments.quiet
    ):
        found = identify(arguments.file, arguments.index, options, arguments.min_blocks)
    say(found.path, found.remarks)
    if arguments.cyclonedx:
        print(json.dumps(bill(found), indent=1))
    elif arguments.json:
        print(json.dumps(identified_record(found)))
    else:
        print(describe(found, summary=not arguments.quiet))
    return 0


def describe(found: Identified, *, summary: bool = True) -> str:
    """For a person; ``summary`` is the line below the libraries, or alone where there are none."""
    rows = [
        (
            library.name,
            f"{library.sure:.2f}",
            library.version,
            "–" if library.share is None else f"{library.share:.2f}",
            library.versions[1][0] if len(library.versions) > 1 else "",
            len(library.functions),
            library.of,
            "; ".join(one.text for one in library.said),
        )
        for library in found.libraries
    ]
    heads = ("library", ">sure", "nearest version held", ">share", "or", ">functions", ">of", "the file says")
    explained = len(found.functions) - len(found.unexplained)
    size = sum(found.functions[place].size for place in found.unexplained)
    told = (
        f"{explained} of {len(found.functions)} functions are explained; the other {len(found.unexplained)} "
        f"have {size:,} bytes. The index knows {found.known} libraries and versions."
    )
    if rows and not summary:
        return table(heads, rows)
    return "\n".join([table(heads, rows), told] if rows else [f"no library of the index was found. {told}"])
