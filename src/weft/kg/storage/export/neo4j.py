"""CSV as ``neo4j-admin database import full`` reads it: nodes.csv and relationships.csv."""

from __future__ import annotations

import csv
from pathlib import Path

from weft.kg.storage.graph import Graph


def write_neo4j(graph: Graph, folder: Path) -> None:
    """Write both files; a relationship's type is the relation's name.

    The import tool reads a line break in a field only with ``--multiline-fields=true``: none is written,
    line breaks in names, kinds and sentences become spaces.
    """
    with (folder / "nodes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id:ID", "name", "kind", "value", ":LABEL"])
        for number, name in enumerate(graph.entities):
            value = graph.value(name)
            said = "" if value is None else str(value)
            writer.writerow([number, _one_line(name), _one_line(graph.kind(name)), said, "Entity"])
    number = {name: index for index, name in enumerate(graph.entities)}
    with (folder / "relationships.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            [
                ":START_ID",
                ":END_ID",
                ":TYPE",
                "confidence:double",
                "evidence:int",
                "origin",
                "document",
                "line:int",
                "start:int",
                "end:int",
                "sentence",
            ]
        )
        for row in range(len(graph)):
            fact, place = graph.fact(row), graph.places(row)[0]
            writer.writerow(
                [
                    number[fact.head],
                    number[fact.tail],
                    _one_line(fact.relation),
                    fact.confidence,
                    fact.evidence,
                    fact.origin,
                    _one_line(place.document),
                    place.line,
                    place.start,
                    place.end,
                    _one_line(place.sentence),
                ]
            )


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())
