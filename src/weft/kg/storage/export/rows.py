"""Rows: JSON lines, a fact each with all its evidence; and the store's own tables, the kept facts alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from weft.kg.storage.graph import Graph


def write_jsonl(graph: Graph, path: Path) -> None:
    """One object a line: ``head``, ``relation``, ``tail``, ``confidence``, ``evidence`` (a list of places)."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in range(len(graph)):
            file.write(json.dumps(fact_record(graph, row), ensure_ascii=False) + "\n")


def fact_record(graph: Graph, row: int) -> dict[str, object]:
    """A fact with its evidence as JSON."""
    fact = graph.fact(row)
    return {
        "head": fact.head,
        "relation": fact.relation,
        "tail": fact.tail,
        "confidence": fact.confidence,
        "origin": fact.origin,
        "kinds": [graph.kind(fact.head), graph.kind(fact.tail)],
        "values": [_value(graph, fact.head), _value(graph, fact.tail)],
        "evidence": [asdict(place) for place in graph.places(row)],
    }


def write_parquet(graph: Graph, folder: Path) -> None:
    """``triples``, ``evidence``, ``documents``, ``names`` and ``relations``, a file each.

    A row of ``evidence`` names its fact by the row of the triple.
    """
    rows = [
        (row, first + place)
        for row, (first, count) in enumerate(
            zip(graph.triples["first"].to_pylist(), graph.triples["evidence"].to_pylist(), strict=True)
        )
        for place in range(count)
    ]
    evidence = graph.evidence.take(pa.array([place for _, place in rows], pa.int64()))
    evidence = evidence.append_column("triple", pa.array([row for row, _ in rows], pa.int64()))
    values = [_value(graph, name) for name in graph.names["name"].to_pylist()]
    tables = {
        "triples": graph.triples.drop_columns(["first", "kept"]),
        "evidence": evidence.drop_columns(["revision"]),
        "documents": graph.documents.drop_columns(["revision", "run"]),
        "names": graph.names.append_column("value", pa.array(values, pa.string())),
        "relations": graph.relations,
    }
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def _value(graph: Graph, entity: str) -> str | None:
    found = graph.value(entity)
    return None if found is None else str(found)
