"""A folder of texts that nobody prepared, read to a graph by the shipped model, and questions asked of it."""

from __future__ import annotations

import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console
from rich.table import Table

from weft.kg.ask.question import answer
from weft.kg.extraction.extract import extract
from weft.kg.page.neighbourhood import neighbourhood
from weft.kg.page.write import write_page
from weft.kg.storage.graph import Graph

PAGE = Path("weft-texts.html")
SHOWN = 14
QUESTIONS = ("Who founded Kestrel Line?", "Where did Karin Ekdahl study?", "Who wrote The Salt Road?")


def show(console: Console) -> None:
    """Read three texts, print the surest facts, ask, and draw."""
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as folder:
        store = Path(folder) / "store"
        with as_file(files("weft.demo").joinpath("made_up")) as place:
            extract(place, store)
            names = ", ".join(sorted(path.name for path in place.iterdir()))
        graph = Graph.load(store)
        console.print(
            f"[bold]A graph from texts.[/] {names}: made up, never trained on. No names, no schema and no "
            f"seed are given. {len(graph)} facts, the surest of each pair of names:\n"
        )
        console.print(_table(graph))
        console.print(
            "\nThe confidence is how often such a fact was right in texts kept apart. Asked in words:\n"
        )
        for question in QUESTIONS:
            found = answer(graph, question)
            said = ", ".join(f"{found.name(fact)} ({fact.confidence:.2f})" for fact in found.facts[:3])
            console.print(f"  {question}  [bold]{said or 'nothing is sure enough'}[/]", highlight=False)
        entity = graph.entity("Kestrel Line")
        write_page(graph, neighbourhood(graph, entity, nodes=30, depth=1), PAGE)
    console.print(f"\n{PAGE} draws what lies around {entity}. `weft kg extract FOLDER -o STORE` reads yours.")


def _table(graph: Graph) -> Table:
    rows = {fact.row: fact for entity in graph.entities for fact in graph.facts(entity)}
    table = Table(show_edge=False, header_style="bold")
    for heading in ("sure", "head", "relation", "tail", "document"):
        table.add_column(heading, justify="right" if heading == "sure" else "left")
    pairs: set[frozenset[str]] = set()
    for fact in sorted(rows.values(), key=lambda fact: (-fact.confidence, fact.row)):
        pair = frozenset((fact.head, fact.tail))
        if pair not in pairs and len(pairs) < SHOWN:
            pairs.add(pair)
            place = graph.places(fact.row)[0]
            table.add_row(f"{fact.confidence:.2f}", fact.head, fact.relation, fact.tail, place.document)
    return table
