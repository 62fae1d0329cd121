"""SPARQL over a store: an index of its RDF beside the tables, built once for each state of them.

The index is no truth: it may be deleted at any time, and is built again when it is asked for.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weft.errors import InputError, MissingExtraError, StoreError
from weft.kg.store.graph import Graph
from weft.kg.store.manifest import read_manifest
from weft.kg.store.rdf import PREFIXES, ntriples

try:
    import pyoxigraph as ox
except ImportError as error:
    raise MissingExtraError("pyoxigraph", "kg") from error

_FOLDER = "index"
_EXPECTED = 6
"""Most things that a message says were expected."""
_POSITION = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_NO_KEYWORD = re.compile(
    r"""<[^<>"{}|^`\\\s]*>|#[^\n]*"""
    r"""|\"{3}(?:[^"\\]|\\.|"(?!""))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""",
    re.DOTALL,
)
_PREFIX = re.compile(r"\bPREFIX\s+([\w.-]*):", re.IGNORECASE)
_PREFIXED = re.compile(r"(?<![\w?$:.-])([A-Za-z][\w.-]*):")
_SERVICE = re.compile(r"(?<![\w?$:-])SERVICE(?![\w-])", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What a query found.

    Args:
        variables: Columns of a SELECT; ``subject``, ``predicate``, ``object`` of a CONSTRUCT or DESCRIBE.
        rows: A term or None for each column; none for an ASK.
        truth: The answer of an ASK; None otherwise.
    """

    variables: tuple[str, ...]
    rows: list[tuple[Term | None, ...]]
    truth: bool | None = None


@dataclass(frozen=True)
class Term:
    """One value of an answer.

    Args:
        kind: ``"uri"``, ``"literal"`` or ``"bnode"``, as in SPARQL's JSON.
        value: The IRI or the text.
        datatype: Of a literal that is no string.
    """

    kind: str
    value: str
    datatype: str | None = None


@contextmanager
def open_index(folder: Path) -> Iterator[ox.Store]:
    """The RDF of a store, ready for queries; built where it is not there yet.

    Raises:
        StoreError: No store, or a damaged one, or no room for the index.
    """
    manifest = read_manifest(folder)
    index = folder / _FOLDER / f"{manifest.generation}"
    if not index.is_dir():
        graph = Graph.load(folder)
        index = folder / _FOLDER / f"{graph.manifest.generation}"
        if not os.access(folder, os.W_OK):
            # Read-only media: the index lives as long as the query.
            with tempfile.TemporaryDirectory(prefix="weft-index-") as place:
                yield build_index(graph, Path(place) / "rdf")
            return
        _install(graph, index)
    try:
        store = ox.Store.read_only(str(index))
    except OSError as error:
        raise StoreError(f"a damaged index: {error}", where=str(index), hint="delete it") from error
    yield store


def build_index(graph: Graph, place: Path) -> ox.Store:
    """Load a graph's RDF into an index.

    Args:
        graph: The graph.
        place: An empty or absent folder.

    Raises:
        StoreError: No room.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        store = ox.Store(str(place))
        with tempfile.NamedTemporaryFile(dir=place.parent) as lines:
            lines.writelines(ntriples(graph))
            lines.flush()
            store.bulk_load(path=lines.name, format=ox.RdfFormat.N_TRIPLES)
        store.flush()
    except OSError as error:
        raise StoreError(f"the index cannot be built: {error}", where=str(place)) from error
    return store


def ask(store: ox.Store, query: str) -> Answer:
    """Answer a SPARQL 1.1 query; the prefixes of :data:`weft.kg.store.rdf.PREFIXES` need no declaration.

    Raises:
        InputError: A syntax error, with its line and column; SERVICE, which would leave this machine.
    """
    bare = _NO_KEYWORD.sub(lambda found: " " * len(found[0]), query)
    service = _SERVICE.search(bare)
    if service is not None:
        line, column = _place(query, service.start())
        raise InputError(
            "SERVICE asks other machines, and nothing leaves this one",
            where=f"query, line {line}, column {column}",
        )
    try:
        found = store.query(query, prefixes=PREFIXES)
    except SyntaxError as error:
        position = _POSITION.search(str(error))
        where = f"query, line {position[1]}, column {position[2]}" if position else "query"
        what = _readable(position[3] if position else str(error))
        known = {*PREFIXES, *_PREFIX.findall(bare)}
        unknown = [name for name in _PREFIXED.findall(bare) if name not in known]
        hint = f"no prefix {unknown[0]}: is declared" if unknown else None
        raise InputError(f"not SPARQL: {what}", where=where, hint=hint) from error
    try:
        if isinstance(found, ox.QueryBoolean):
            return Answer((), [], bool(found))
        if isinstance(found, ox.QuerySolutions):
            variables = tuple(variable.value for variable in found.variables)
            return Answer(variables, [tuple(_term(value) for value in row) for row in found])
        rows = [(_term(item.subject), _term(item.predicate), _term(item.object)) for item in found]
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot be answered: {error}", where="query") from error
    return Answer(("subject", "predicate", "object"), rows)


def _readable(message: str) -> str:
    """What a parser expected, without the sets of characters that a name may hold."""
    what = " ".join(message.split())
    if "Prefix not found" in what:
        return "a prefix that is not declared"
    expected = what.removeprefix("expected one of ").removeprefix("expected ")
    items = [item for item in re.split(r",(?=\s*[\[\"A-Z])\s*", expected) if not item.startswith("[")]
    if what == expected:
        return what
    return f"expected {' or '.join(items[:_EXPECTED])}" if items else "what stands here is not expected"


def _term(value: object) -> Term | None:
    if isinstance(value, ox.NamedNode):
        return Term("uri", value.value)
    if isinstance(value, ox.Literal):
        plain = value.datatype.value.endswith("#string")
        return Term("literal", value.value, None if plain else value.datatype.value)
    return None if value is None else Term("bnode", str(value))


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _install(graph: Graph, index: Path) -> None:
    """Build the index beside, then rename it into place; whoever comes second uses the first one's."""
    try:
        index.parent.mkdir(exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=".part-", dir=index.parent))
    except OSError as error:
        raise StoreError(f"no room for an index: {error.strerror}", where=str(index.parent)) from error
    try:
        build_index(graph, place / "rdf")
        try:
            os.rename(place / "rdf", index)
        except OSError as error:
            if not index.is_dir():
                raise StoreError(f"the index cannot be kept: {error.strerror}", where=str(index)) from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
    for old in index.parent.iterdir():
        if old.name.isdigit() and int(old.name) < graph.manifest.generation:
            shutil.rmtree(old, ignore_errors=True)
