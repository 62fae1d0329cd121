"""An extracted graph beside the seed graph: how large both are, what they share, what is new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from weft.errors import InputError
from weft.kg.dataset.tables import read_table
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import SEED, first_unused, read_seeds
from weft.kg.schema import Relation, Schema
from weft.kg.storage.derive import fold
from weft.kg.storage.graph import Graph

Triple = tuple[str, str, str]


class SeedGraph(NamedTuple):
    """A seed graph in words.

    Args:
        facts: Head, relation, tail; names as they are known.
        entities: The names of each entity, those without a fact among them.
    """

    facts: list[Triple]
    entities: list[tuple[str, ...]]


@dataclass(frozen=True)
class Share:
    """Two sets beside each other.

    Args:
        seed: In the seed graph.
        graph: In the extracted graph.
        both: In both.
    """

    seed: int
    graph: int
    both: int

    @property
    def new(self) -> int:
        """In the extracted graph alone."""
        return self.graph - self.both

    @property
    def not_found(self) -> int:
        """In the seed graph alone."""
        return self.seed - self.both

    def record(self) -> dict[str, int]:
        """As JSON."""
        return {**asdict(self), "new": self.new, "not_found": self.not_found}


@dataclass(frozen=True)
class Comparison:
    """An extracted graph beside a seed graph.

    Args:
        facts: All of them.
        entities: Those that a fact speaks of.
        relations: The facts of each relation.
        between_known: New facts both of whose entities the seed graph knows.
    """

    facts: Share
    entities: Share
    relations: Mapping[str, Share]
    between_known: int

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {
            "facts": self.facts.record(),
            "entities": self.entities.record(),
            "new_between_known_entities": self.between_known,
            "relations": {name: share.record() for name, share in self.relations.items()},
        }


def compare(graph: Graph, seed: SeedGraph) -> Comparison:
    """Lay a graph beside a seed graph; names of one entity of the graph, or of the seed, are one.

    Args:
        graph: The extracted graph; its kept facts count.
        seed: The seed graph.
    """
    called: dict[str, str] = {}
    for names in seed.entities:
        known = next((entity for entity in map(graph.find, names) if entity is not None), None)
        # An entity that the graph does not know has a name there that no entity can have.
        label = f"\0{fold(names[0], graph.manifest.spelling)}" if known is None else known
        for name in names:
            called.setdefault(name, label)
    stated = {(called[head], relation, called[tail]) for head, relation, tail in seed.facts}
    columns = (graph.triples[name].to_pylist() for name in ("head", "relation", "tail"))
    found: set[Triple] = set(zip(*columns, strict=True))
    known = set(called.values())
    relations = sorted({relation for _, relation, _ in stated | found})
    return Comparison(
        _share(stated, found),
        _share(_entities(stated), _entities(found)),
        {name: _share(_of(name, stated), _of(name, found)) for name in relations},
        sum(head in known and tail in known for head, _, tail in found - stated),
    )


def read_seed_graph(paths: Sequence[Path], graph: Graph, schema: Path | None, funnel: Funnel) -> SeedGraph:
    """Seed files, or the known facts of data sets of text that ``weft kg build`` made.

    Args:
        paths: Files and folders.
        graph: Its relations are the schema where none is given.
        schema: A schema file: knows other names of relations, and those that go both ways.
        funnel: Counts and lists what cannot be used.

    Raises:
        InputError: Something cannot be read, or nothing of what it says can be used.
    """
    facts: list[Triple] = []
    entities: list[tuple[str, ...]] = []
    for folder in (path for path in paths if path.is_dir()):
        of_folder = list(_known_facts(folder))
        facts += of_folder
        entities += [(name,) for head, _, tail in of_folder for name in (head, tail)]
    files = [path for path in paths if not path.is_dir()]
    if files:
        rules = _schema_of(graph) if schema is None else Schema.load(schema)
        seeds = read_seeds(files, rules, funnel)
        name = [entity.name for entity in seeds.entities]
        if not seeds.entities and not facts and funnel.listed:
            said = f"names no entity of the store's relations{first_unused(funnel)}"
            raise InputError(said, where=", ".join(map(str, files)), hint=SEED)
        facts += [(name[item.head], rules.names[item.relation], name[item.tail]) for item in seeds.triples]
        entities += [entity.names for entity in seeds.entities]
    return SeedGraph(facts, entities)


def _schema_of(graph: Graph) -> Schema:
    columns = (graph.relations[name].to_pylist() for name in ("relation", "definition"))
    return Schema(tuple(Relation(name, text) for name, text in zip(*columns, strict=True)))


def _known_facts(folder: Path) -> Iterator[Triple]:
    facts, mentions = read_table(folder, "facts"), read_table(folder, "mentions")
    columns = (mentions[name].to_pylist() for name in ("document", "entity", "name"))
    names = {(document, entity): name for document, entity, name in zip(*columns, strict=True)}
    relations = Schema.load(folder / "schema.json").names
    columns = (facts[name].to_pylist() for name in ("document", "head", "relation", "tail"))
    for document, head, relation, tail in zip(*columns, strict=True):
        if (document, head) in names and (document, tail) in names:
            if not 0 < relation < len(relations):
                raise InputError(f"relation {relation} is not in the schema", where=str(folder))
            yield names[document, head], relations[relation], names[document, tail]


def _share(seed: set[Triple] | set[str], graph: set[Triple] | set[str]) -> Share:
    return Share(len(seed), len(graph), len(seed & graph))


def _entities(facts: set[Triple]) -> set[str]:
    return {name for head, _, tail in facts for name in (head, tail)}


def _of(relation: str, facts: set[Triple]) -> set[Triple]:
    return {fact for fact in facts if fact[1] == relation}
