"""A graph in other formats; each file or folder appears under its name only when it is whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from weft.errors import ConfigError
from weft.kg.storage.export.graphml import write_graphml
from weft.kg.storage.export.neo4j import write_neo4j
from weft.kg.storage.export.rdf import write_json_ld, write_ntriples, write_turtle
from weft.kg.storage.export.rows import write_jsonl, write_parquet
from weft.kg.storage.graph import Graph
from weft.kg.storage.manifest import check_outside
from weft.platform.files import replaced, replaced_folder


class Format(NamedTuple):
    """One format: what writes it, whether it is a folder of files, and what it is."""

    write: Callable[[Graph, Path], None]
    folder: bool
    summary: str


FORMATS: dict[str, Format] = {
    "ntriples": Format(write_ntriples, False, "RDF, a statement a line, the same bytes for the same facts"),
    "turtle": Format(write_turtle, False, "RDF with prefixes"),
    "jsonld": Format(write_json_ld, False, "RDF as JSON"),
    "graphml": Format(write_graphml, False, "for networkx, Gephi, yEd, igraph"),
    "neo4j": Format(write_neo4j, True, "nodes.csv and relationships.csv for `neo4j-admin database import`"),
    "jsonl": Format(write_jsonl, False, "a fact a line, with all its evidence"),
    "parquet": Format(write_parquet, True, "triples, evidence, documents, names and relations as tables"),
}


def export(graph: Graph, form: str, output: Path) -> None:
    """Write a graph.

    Args:
        graph: What to write.
        form: One of :data:`FORMATS`.
        output: The file, or for ``neo4j`` and ``parquet`` a folder that does not exist yet.

    Raises:
        ConfigError: No such format.
        OutputError: It cannot be written, lies in a store, or the folder is there already.
    """
    if form not in FORMATS:
        raise ConfigError(f"no format {form!r}", hint=f"one of: {', '.join(FORMATS)}")
    chosen = FORMATS[form]
    check_outside(output)
    with replaced_folder(output, new=True) if chosen.folder else replaced(output) as part:
        chosen.write(graph, part)
