"""``weft kg show``: the surest facts of a store or of an entity, each with the sentence that states it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING

from weft.cli.options import Parser, add_html, add_json, add_only, add_store, at_least
from weft.errors import ConfigError, counted

if TYPE_CHECKING:
    from weft.kg.storage.graph import Fact, Graph


_ORIGINS = {"words": " (a relation by words)", "label": " (by a table or form)"}
"""What is said of facts that neither the syntax nor a trained relation states."""


def parser() -> Parser:
    """The arguments of ``weft kg show``."""
    result = Parser(
        "kg show", "Print what a store knows, all in all or of an entity, and where that is said."
    )
    add_store(result)
    result.add_argument(
        "entity",
        nargs="?",
        metavar="ENTITY",
        help="a name, an alias, the end of a qualified name (the surest facts of all entities)",
    )
    result.add_argument("--limit", type=int, metavar="N", help="print the N surest facts (30)")
    result.add_argument("--places", type=int, metavar="N", help="sentences of each fact (1)")
    add_html(result, "an interactive page of what lies around")
    result.add_argument(
        "--nodes", type=int, default=60, metavar="N", help="entities on the page, to 300 (60)"
    )
    result.add_argument("--depth", type=int, default=2, metavar="N", help="steps from the entity (2)")
    add_only(result)
    add_json(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg show``."""
    arguments = parser().parse_args(argv)
    at_least(1, limit=arguments.limit, places=arguments.places)
    for name in ("limit", "places", "json") if arguments.html is not None else ():
        if getattr(arguments, name):
            raise ConfigError(f"--html writes a page and prints no facts: leave --{name} out")
    from weft.kg.storage.entity_record import entity_record, store_record, surest_facts
    from weft.kg.storage.graph import Graph

    graph = Graph.load(arguments.store, arguments.only)
    entity = None if arguments.entity is None else graph.entity(arguments.entity)
    if arguments.html is not None:
        from weft.kg.page.neighbourhood import neighbourhood
        from weft.kg.page.write import write_page
        from weft.kg.storage.manifest import check_outside

        if entity is None:
            raise ConfigError(
                "--html draws what lies around an entity, and none is named",
                where=str(arguments.store),
                hint=_most_told(graph),
            )
        check_outside(arguments.html)
        around = neighbourhood(graph, entity, nodes=arguments.nodes, depth=arguments.depth)
        write_page(graph, around, arguments.html)
        drawn = counted(len(around.rings), "entity", "entities"), counted(len(around.facts), "fact")
        print(f"{drawn[0]} and {drawn[1]} in {arguments.html}")
        return 0
    facts = surest_facts(graph, entity, arguments.limit or 30)
    if arguments.json:
        record = store_record(graph, facts) if entity is None else entity_record(graph, entity, facts)
        print(json.dumps(record, ensure_ascii=False))
        return 0
    _print(graph, entity, facts, arguments.places or 1, arguments.only)
    return 0


def _print(graph: Graph, entity: str | None, facts: list[Fact], places: int, only: str | None) -> None:
    from rich.text import Text

    from weft.cli.console import PipedConsole
    from weft.cli.table import one_line

    console = PipedConsole(width=None if sys.stdout.isatty() else 120, highlight=False)
    count = graph.count(entity)
    if entity is None:
        sizes = counted(count, "fact"), counted(len(graph.entities), "entity", "entities")
        console.print(f"{sizes[0]} about {sizes[1]}")
    else:
        also = graph.spellings(entity)
        called = f" (also {one_line(', '.join(also[:8]))})" if also else ""
        kind = f", {graph.kind(entity)}" if graph.kind(entity) else ""
        console.print(Text.assemble((one_line(entity), "bold"), f"{kind}{called}: {counted(count, 'fact')}"))
        if (documents := _documents_of_a_bare_name(graph, entity)) > 1:
            said = counted(documents, "document")
            console.print(f"a name of one word in {said}: it may be several persons")
    width = 6 if any(fact.origin == "tree" for fact in facts) else 4
    for fact in facts:
        sure = "stated" if fact.origin == "tree" else f"{fact.confidence:.2f}".ljust(width)
        unresolved = " (unresolved)" if graph.kind(fact.tail) == "unresolved" else ""
        by_what = _ORIGINS.get(fact.origin, "")
        line = Text.assemble(
            f"{sure}  {one_line(fact.head)} ",
            (one_line(fact.relation), "cyan"),
            f" {one_line(fact.tail)}{unresolved}{by_what}",
        )
        console.print(line, overflow="fold")
        for place in graph.places(fact.row)[:places]:
            by = f", tail combined by {place.combined}" if place.combined else ""
            for said in (" ".join(place.sentence.split()), f"{place.document}:{place.line}{by}"):
                console.print(Text(f"      {one_line(said)}", style="dim"), overflow="fold")
    if entity is not None and not count and only is not None:
        console.print(f"none is {only}: leave --only out for the others")
    if count > len(facts):
        console.print(f"and {count - len(facts)} more (--limit)")


def _documents_of_a_bare_name(graph: Graph, entity: str) -> int:
    """In how many documents facts speak of a person by one word; 0 of other entities."""
    if graph.kind(entity) != "PER" or len(entity.split()) > 1:
        return 0
    return len({place.document for fact in graph.facts(entity) for place in graph.places(fact.row)})


def _most_told(graph: Graph) -> str | None:
    """The entity that most facts speak of, as a hint."""
    told = Counter(name for fact in graph.facts() for name in (fact.head, fact.tail))
    return f"name one, such as {told.most_common(1)[0][0]!r}" if told else None
