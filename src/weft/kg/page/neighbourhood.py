"""The surroundings of an entity, cut to what a person can look at: the surest facts first, ring by ring."""

from __future__ import annotations

from dataclasses import dataclass

from weft.errors import ConfigError
from weft.kg.storage.graph import Fact, Graph

MOST_NODES = 300
_EDGES_PER_NODE = 4


@dataclass(frozen=True)
class Neighbourhood:
    """Entities around one, and the facts between them.

    Args:
        centre: The entity in the middle.
        rings: Entity to its distance from the centre.
        facts: Facts between these entities, the surest first.
        left_out: Facts of the centre that are not among them.
    """

    centre: str
    rings: dict[str, int]
    facts: list[Fact]
    left_out: int


def neighbourhood(graph: Graph, centre: str, *, nodes: int = 60, depth: int = 2) -> Neighbourhood:
    """Walk outwards from an entity.

    Each ring takes the surest facts of the ring before it, until there are enough entities.

    Args:
        graph: The graph.
        centre: As :meth:`weft.kg.storage.graph.Graph.entity` gives it.
        nodes: Most entities, at most 300.
        depth: Rings.

    Raises:
        ConfigError: ``nodes`` or ``depth`` out of bounds.
    """
    if not 2 <= nodes <= MOST_NODES:
        raise ConfigError(f"nodes is {nodes}; it must be in 2..{MOST_NODES}")
    if not 1 <= depth <= 5:
        raise ConfigError(f"depth is {depth}; it must be in 1..5")
    rings = {centre: 0}
    of_centre = graph.facts(centre)
    facts = {fact.row: fact for fact in of_centre}
    for ring in range(1, depth + 1):
        edge = [name for name, distance in rings.items() if distance == ring - 1]
        found: dict[int, Fact] = {}
        for name in edge if len(rings) < nodes else ():
            found |= {fact.row: fact for fact in (of_centre if name == centre else graph.facts(name))}
        for fact in sorted(found.values(), key=lambda fact: (-fact.confidence, fact.row)):
            for name in (fact.head, fact.tail):
                if len(rings) < nodes:
                    rings.setdefault(name, ring)
        facts |= found
    inside = [fact for fact in facts.values() if fact.head in rings and fact.tail in rings]
    inside.sort(key=lambda fact: (-fact.confidence, fact.row))
    shown = inside[: _EDGES_PER_NODE * nodes]
    rows = {fact.row for fact in shown}
    return Neighbourhood(centre, rings, shown, sum(fact.row not in rows for fact in of_centre))
