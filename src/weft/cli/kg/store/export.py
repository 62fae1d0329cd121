"""``weft kg export``: a store in other formats."""

from __future__ import annotations

from weft.cli.options import Parser, add_only, add_out, add_store
from weft.errors import counted


def parser() -> Parser:
    """The arguments of ``weft kg export``."""
    result = Parser(
        "kg export",
        "Write the kept facts of a store: ntriples, turtle, jsonld, graphml and jsonl are files; neo4j and parquet "
        "are folders.",
    )
    add_store(result)
    result.add_argument("--format", required=True, metavar="FORMAT", help="one of these")
    add_only(result)
    add_out(result, "PLACE", "the file or folder")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg export``."""
    arguments = parser().parse_args(argv)
    from weft.kg.storage.export import export
    from weft.kg.storage.graph import Graph

    graph = Graph.load(arguments.store, arguments.only)
    export(graph, arguments.format, arguments.out)
    print(f"{counted(len(graph), 'fact')} in {arguments.out}")
    return 0
