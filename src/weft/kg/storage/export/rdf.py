"""RDF: N-Triples as the graph gives them; Turtle and JSON-LD through pyoxigraph."""

from __future__ import annotations

import io
from pathlib import Path

from weft.errors import MissingExtraError
from weft.kg.storage.graph import Graph
from weft.kg.storage.rdf import PREFIXES, ntriples

try:
    import pyoxigraph as ox
except ImportError as error:
    raise MissingExtraError("pyoxigraph", "kg") from error


def write_ntriples(graph: Graph, path: Path) -> None:
    """N-Triples: sorted by fact, so that two graphs of the same facts are the same bytes."""
    with path.open("wb") as file:
        file.writelines(ntriples(graph))


def write_turtle(graph: Graph, path: Path) -> None:
    """Turtle with the prefixes that queries know."""
    _convert(graph, path, ox.RdfFormat.TURTLE)


def write_json_ld(graph: Graph, path: Path) -> None:
    """JSON-LD with a context of the same prefixes."""
    _convert(graph, path, ox.RdfFormat.JSON_LD)


def _convert(graph: Graph, path: Path, form: ox.RdfFormat) -> None:
    # Parsed block by block: a block is whole lines, and N-Triples know no state between them.
    triples = (
        quad.triple
        for block in ntriples(graph)
        for quad in ox.parse(io.BytesIO(block), ox.RdfFormat.N_TRIPLES)
    )
    with path.open("wb") as file:
        ox.serialize(triples, file, form, prefixes=PREFIXES)
