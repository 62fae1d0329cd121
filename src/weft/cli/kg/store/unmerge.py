"""``weft kg unmerge``: undo a merge."""

from __future__ import annotations

from weft.cli.options import Parser, add_store
from weft.errors import counted


def parser() -> Parser:
    """The arguments of ``weft kg unmerge``."""
    result = Parser("kg unmerge", "Undo a merge: OTHER is an entity of its own again.")
    add_store(result)
    result.add_argument("entity", metavar="ENTITY", help="the one that stayed")
    result.add_argument("other", metavar="OTHER", help="the one that became its alias")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg unmerge``."""
    arguments = parser().parse_args(argv)
    from weft.kg.storage.graph import Graph
    from weft.kg.storage.writer import open_writer

    with open_writer(arguments.store) as writer:
        writer.unmerge(arguments.entity, arguments.other)
        writer.finish()
    graph = Graph.load(arguments.store)
    found = [graph.find(name) for name in (arguments.entity, arguments.other)]
    counts = [0 if name is None else graph.count(name) for name in found]
    print(f"{arguments.entity} has {counted(counts[0], 'fact')}, {arguments.other} {counts[1]}")
    return 0
