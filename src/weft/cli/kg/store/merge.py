"""``weft kg merge``: make two entities one."""

from __future__ import annotations

import json

from weft.cli.options import Parser, add_json, add_store
from weft.errors import InputError, counted


def parser() -> Parser:
    """The arguments of ``weft kg merge``."""
    result = Parser(
        "kg merge",
        "Make OTHER another name of ENTITY: its facts become ENTITY's, in this run and every later one.",
    )
    add_store(result)
    result.add_argument("entity", metavar="ENTITY", help="the one that stays")
    result.add_argument("other", metavar="OTHER", help="the one that becomes its alias")
    add_json(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg merge``."""
    arguments = parser().parse_args(argv)
    from weft.kg.storage.graph import Graph
    from weft.kg.storage.writer import open_writer

    with open_writer(arguments.store) as writer:
        graph = Graph.load(arguments.store)
        entity, other = graph.entity(arguments.entity), graph.entity(arguments.other)
        if entity == other:
            raise InputError(
                f"{arguments.other!r} and {arguments.entity!r} are one entity already, {entity!r}",
                where=str(arguments.store),
            )
        writer.merge(entity, other)
        writer.finish()
    after = Graph.load(arguments.store)
    facts, of_entity, of_other = after.count(after.entity(entity)), graph.count(entity), graph.count(other)
    if arguments.json:
        apart = {"entity_facts": of_entity, "other_facts": of_other}
        print(json.dumps({"entity": entity, "other": other, "facts": facts, **apart}, ensure_ascii=False))
        return 0
    print(f"{other} is {entity} now: {counted(facts, 'fact')} ({of_entity} and {of_other} before)")
    return 0
