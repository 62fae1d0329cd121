"""``weft kg unmerge``: undo a merge."""

from __future__ import annotations

import json

from weft.cli.options import Parser, add_json, add_store
from weft.errors import counted


def parser() -> Parser:
    """The arguments of ``weft kg unmerge``."""
    result = Parser("kg unmerge", "Undo a merge: OTHER is an entity of its own again.")
    add_store(result)
    result.add_argument("entity", metavar="ENTITY", help="the one that stayed")
    result.add_argument("other", metavar="OTHER", help="the one that became its alias")
    add_json(result)
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
    asked = arguments.entity, arguments.other
    found = [graph.find(name) for name in asked]
    counts = [0 if name is None else graph.count(name) for name in found]
    if arguments.json:
        names = {key: name or said for key, name, said in zip(("entity", "other"), found, asked, strict=True)}
        facts = {"entity_facts": counts[0], "other_facts": counts[1]}
        print(json.dumps({**names, **facts}, ensure_ascii=False))
        return 0
    print(f"{arguments.entity} has {counted(counts[0], 'fact')}, {arguments.other} {counts[1]}")
    return 0
