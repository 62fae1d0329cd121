"""RDF: N-Triples as the graph gives them; Turtle and JSON-LD through pyoxigraph."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from weft.errors import MissingExtraError
from weft.kg.storage.graph import Graph
from weft.kg.storage.rdf import PREFIXES, ntriples

try:
    import pyoxigraph as ox
except ImportError as error:
    raise MissingExtraError("pyoxigraph", "kg") from error


_ENDS_IN_DOT = re.compile(
    rb"(?:(?<=\s)|^)(%s):((?:[^\s\\\"<>]|\\.)*\\\.)(?=\s)" % "|".join(PREFIXES).encode(), re.MULTILINE
)
"""A short name that ends in a dot, which Turtle writes as ``e:Inc\\.``; no text holds such an escape."""


def write_ntriples(graph: Graph, path: Path) -> None:
    """N-Triples: sorted by fact, so that two graphs of the same facts are the same bytes."""
    with path.open("wb") as file:
        file.writelines(ntriples(graph))


def write_turtle(graph: Graph, path: Path) -> None:
    """Turtle with the prefixes that queries know; names that end in a dot stand in full, for readers such as rdflib."""
    with path.open("wb") as file:
        lines = _Lines(file)
        ox.serialize(_triples(graph), cast("IO[bytes]", lines), ox.RdfFormat.TURTLE, prefixes=PREFIXES)
        lines.end()


def write_json_ld(graph: Graph, path: Path) -> None:
    """JSON-LD with a context of the same prefixes."""
    with path.open("wb") as file:
        ox.serialize(_triples(graph), file, ox.RdfFormat.JSON_LD, prefixes=PREFIXES)


def _triples(graph: Graph) -> Iterator[ox.Triple]:
    # Parsed block by block: a block is whole lines, and N-Triples know no state between them.
    return (
        quad.triple
        for block in ntriples(graph)
        for quad in ox.parse(io.BytesIO(block), ox.RdfFormat.N_TRIPLES)
    )


class _Lines:
    """Turtle on its way into a file, line by line: texts hold no line break."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._rest = file, b""

    def write(self, data: bytes) -> int:
        whole, end, self._rest = (self._rest + data).rpartition(b"\n")
        whole += end
        self._file.write(_ENDS_IN_DOT.sub(_in_full, whole) if b"\\." in whole else whole)
        return len(data)

    def flush(self) -> None:
        """Nothing: a line may not be whole yet."""

    def end(self) -> None:
        """Write what has no line end."""
        self._file.write(_ENDS_IN_DOT.sub(_in_full, self._rest))


def _in_full(found: re.Match[bytes]) -> bytes:
    local = re.sub(rb"\\(.)", rb"\1", found[2])
    return b"<%s%s>" % (PREFIXES[found[1].decode()].encode(), local)
