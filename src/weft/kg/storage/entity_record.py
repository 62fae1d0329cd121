"""What a store knows, of an entity or at all, as JSON values: the documented, stable form of ``weft kg show``."""

from __future__ import annotations

from typing import Any

from weft.kg.storage.export.rows import fact_record
from weft.kg.storage.graph import Fact, Graph


def surest_facts(graph: Graph, entity: str | None, limit: int) -> list[Fact]:
    """The surest facts of an entity; of the whole store where None.

    Where they are all stated, as many that a model inferred follow: they are less sure, and of more interest than the
    last of what is written there.
    """
    facts = graph.facts(entity, limit)
    if facts and facts[-1].origin == "tree":
        facts += [fact for fact in graph.facts(entity)[len(facts) :] if fact.origin != "tree"][:limit]
    return facts


def entity_record(graph: Graph, entity: str, facts: list[Fact]) -> dict[str, Any]:
    """An entity with some of its facts; see ``docs/kg.md``."""
    names = {"entity": entity, "kind": graph.kind(entity), "also": graph.spellings(entity)}
    return {**names, "facts": [fact_record(graph, fact.row) for fact in facts]}


def store_record(graph: Graph, facts: list[Fact]) -> dict[str, Any]:
    """How much a store holds, with some of its facts; see ``docs/kg.md``."""
    sizes = {"entities": len(graph.entities), "count": len(graph)}
    return {**sizes, "facts": [fact_record(graph, fact.row) for fact in facts]}
