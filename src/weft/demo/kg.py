"""Facts about a module of the standard library that the model never saw, judged by the syntax tree."""

from __future__ import annotations

import csv
from collections import defaultdict
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console
from rich.table import Table

from weft.errors import CheckpointError
from weft.kg.extract import Extractor, ModelFact

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
