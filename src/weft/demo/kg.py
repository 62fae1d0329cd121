"""Facts about a module of the standard library that the model never saw, judged by the syntax tree, as a graph."""

from __future__ import annotations

import csv
import hashlib
import tempfile
from collections import defaultdict
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from weft.errors import CheckpointError
from weft.kg.extraction.code import evidence_of
from weft.kg.extraction.facts import Extractor, ModelFact
from weft.kg.languages.python import LANGUAGE as PYTHON
from weft.kg.storage.graph import Graph
from weft.kg.storage.query.sparql import ask, open_index
from weft.kg.storage.writer import create_store, open_writer

SHOWN = 2
"""Facts of each relation: those in the middle of its confidences, neither the best nor the worst."""


def show(console: Console) -> None:
    """Ask for the facts of ``csv``, and compare."""
    source = Path(csv.__file__)
    folder = files("weft").joinpath("weights", "kg-python-small")
    if not folder.joinpath("config.json").is_file():
        raise CheckpointError("no model 'kg-python-small'", where=str(folder))
    with as_file(folder) as place:
        extractor = Extractor.load(place)
    facts = extractor.facts(source, beams=2)
    console.print(
        "[bold]A knowledge graph from code.[/] The module csv was held out of the model's training. For every "
        "(head, relation) the model spells the tail; the syntax tree is the judge, and silent about types "
        "that are nowhere written.\n"
    )
    table = Table(show_edge=False, header_style="bold")
    for heading in ("line", "head", "relation", "tail, as the model says", "sure", "the tree"):
        table.add_column(heading, justify="right" if heading in ("line", "sure") else "left")
    for fact in typical(facts):
        verdict = {True: "[green]agrees", False: f"[red]{', '.join(fact.stated[:3])}", None: "[dim]silent"}
        table.add_row(
            str(fact.line),
            fact.head,
            fact.relation,
            fact.tail,
            f"{fact.confidence:.2f}",
            verdict[fact.agrees],
        )
    console.print(table)
    judged = [fact for fact in facts if fact.agrees is not None]
    right = sum(fact.agrees is True for fact in judged)
    expected = sum(fact.confidence for fact in judged)
    console.print(
        f"\n{len(facts)} facts in all. The tree judges {len(judged)} and agrees with {right}; "
        f"the model's confidences add up to {expected:.0f}."
    )
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as folder:
        ask_store(console, source, facts, Path(folder) / "store")


def ask_store(console: Console, source: Path, facts: list[ModelFact], store: Path) -> None:
    """Put the facts into a store, keep the sure ones, and ask for exceptions and the lines that raise them."""
    data = source.read_bytes()
    evidence = evidence_of(PYTHON.decode(data, str(source)), facts)
    create_store(store, PYTHON.schema)
    with open_writer(store) as writer:
        writer.put(source.name, "demo", hashlib.sha256(data).hexdigest(), "kg-python-small", evidence)
        writer.keep(KEPT)
        writer.finish()
    graph = Graph.load(store)
    console.print(
        f"\nAs a graph: {len(graph)} facts between {len(graph.entities)} names are kept at a precision of "
        f"{KEPT}. Asked in SPARQL for exceptions:\n"
    )
    with open_index(store) as index:
        answer = ask(index, QUERY)
    table = Table(show_edge=False, header_style="bold")
    for heading in answer.variables:
        table.add_column(heading)
    for row in answer.rows:
        table.add_row(*(Text("" if term is None else term.value) for term in row))
    console.print(table)
    console.print("\n`weft kg extract`, `query` and `show --html` do the same with a folder of your own.")


QUERY = """
SELECT ?function ?relation ?exception ?sure ?line ?source WHERE {
  VALUES (?p ?relation) { (r:raises "raises") (r:handles "handles") }
  ?a rdf:subject [ rdfs:label ?function ] ; rdf:predicate ?p ; rdf:object [ rdfs:label ?exception ] ;
     weft:confidence ?sure ; weft:source [ weft:line ?line ; weft:sentence ?source ] .
} ORDER BY DESC(?sure) ?line LIMIT 6"""
KEPT = 0.9
"""Share of right facts among those that the demonstration's store keeps."""


def typical(facts: list[ModelFact]) -> list[ModelFact]:
    """A few facts of every relation from the middle of its confidences, in the order of the file."""
    grouped: dict[str, list[ModelFact]] = defaultdict(list)
    for fact in facts:
        grouped[fact.relation].append(fact)
    chosen = []
    for group in grouped.values():
        group.sort(key=lambda fact: fact.confidence)
        begin = max((len(group) - SHOWN) // 2, 0)
        chosen += group[begin : begin + SHOWN]
    return sorted(chosen, key=lambda fact: (fact.line, fact.head, fact.relation))
