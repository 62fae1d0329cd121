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

from weft.errors import InputError, LimitError, MissingExtraError, OutputError, StoreError
from weft.kg.storage.graph import Graph
from weft.kg.storage.layout import Only
from weft.kg.storage.manifest import read_manifest
from weft.kg.storage.query.diagnosis import diagnose, dots_escaped, words
from weft.kg.storage.rdf import PREFIXES, VERSION, ntriples
from weft.platform.files import make_folder, replaced_folder, writing_to
from weft.platform.processes import Limits, run_bounded, told

try:
    import pyoxigraph as ox
except ImportError as error:
    raise MissingExtraError("pyoxigraph", "kg") from error

_FOLDER = "index"
_VERSION = f"-rdf{VERSION}"
_POSITION = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_DEEPEST = 100
"""Most open brackets of a query: the parser calls itself for each, and its stack has an end."""
_SERVICE = re.compile(
    "".join(
        rf"(?:[{letter}{letter.lower()}]|\\(?:u00|U000000)(?:{ord(letter):x}|{ord(letter.lower()):x}))"
        for letter in "SERVICE"
    ),
    re.IGNORECASE,
)
"""The letters of SERVICE, by themselves or as escapes."""


@dataclass(frozen=True)
class Answer:
    """What a query found.

    Args:
        variables: Columns of a SELECT; ``subject``, ``predicate``, ``object`` of a CONSTRUCT or DESCRIBE.
        rows: A term or None for each column; none for an ASK.
        truth: The answer of an ASK; None otherwise.
        graph: Whether the rows are the triples of a graph.
    """

    variables: tuple[str, ...]
    rows: list[tuple[Term | None, ...]]
    truth: bool | None = None
    graph: bool = False


@dataclass(frozen=True)
class Term:
    """One value of an answer.

    Args:
        kind: ``"uri"``, ``"literal"`` or ``"bnode"``, as in SPARQL's JSON.
        value: The IRI or the text.
        datatype: Of a literal that is no string.
        language: Of a text in a language.
    """

    kind: str
    value: str
    datatype: str | None = None
    language: str | None = None


@contextmanager
def locate_index(folder: Path, only: Only | None = None) -> Iterator[Path]:
    """Where the RDF of a store lies; built where it is not there yet.

    Args:
        folder: The store.
        only: Stated facts alone, or inferred ones; both where None.

    Raises:
        StoreError: No store, or a damaged one, or no room for the index.
    """
    manifest = read_manifest(folder)
    ending = f"{_VERSION}-{only}" if only else _VERSION
    index = folder / _FOLDER / f"{manifest.generation}{ending}"
    if not index.is_dir():
        graph = Graph.load(folder, only)
        index = folder / _FOLDER / f"{graph.manifest.generation}{ending}"
        if not os.access(folder, os.W_OK):
            # Read-only media: the index lives as long as the query.
            with tempfile.TemporaryDirectory(prefix="weft-index-") as place:
                build_index(graph, Path(place) / "rdf")
                yield Path(place) / "rdf"
            return
        _install(graph, index)
    yield index


@contextmanager
def open_index(folder: Path) -> Iterator[ox.Store]:
    """The RDF of a store, ready for queries of this program's own; :func:`answer` is for those of others.

    Raises:
        StoreError: No store, or a damaged one, or no room for the index.
    """
    with locate_index(folder) as place:
        yield _opened(place)


def answer(place: Path, query: str, seconds: float, mebibytes: int = 4096) -> Answer:
    """Answer a query in a process of its own, that ends when it takes too long or too much.

    Args:
        place: What :func:`locate_index` gives.
        query: SPARQL 1.1; see :func:`ask`.
        seconds: Most time.
        mebibytes: Most memory.

    Raises:
        LimitError: It took more.
        InputError: It cannot be answered.
    """
    item = str(place), query
    outcome = next(run_bounded(_answer, [item], workers=1, limits=Limits(seconds, mebibytes)))
    if outcome.error is None and outcome.value is not None:
        return outcome.value
    if isinstance(outcome.error, LimitError) and outcome.error.where == told(item):
        raise LimitError(
            f"the answer {outcome.error.what}",
            where="query",
            hint="ask for less, or give it more with --timeout",
        )
    if isinstance(outcome.error, InputError) and outcome.error.where == told(item):
        raise InputError("the query engine broke on it", where="query", hint="ask for it in simpler terms")
    raise outcome.error or InputError("no answer", where="query")


def _answer(item: tuple[str, str]) -> Answer:
    return ask(_opened(Path(item[0])), item[1])


def _opened(place: Path) -> ox.Store:
    try:
        return ox.Store.read_only(str(place))
    except OSError as error:
        raise StoreError(f"a damaged index: {error}", where=str(place), hint="delete it") from error


def build_index(graph: Graph, place: Path) -> ox.Store:
    """Load a graph's RDF into an index.

    Args:
        graph: The graph.
        place: An empty or absent folder.

    Raises:
        StoreError: No room.
    """
    with writing_to(place):
        place.mkdir(parents=True, exist_ok=True)
        store = ox.Store(str(place))
        with tempfile.NamedTemporaryFile(dir=place.parent) as lines:
            lines.writelines(ntriples(graph))
            lines.flush()
            store.bulk_load(path=lines.name, format=ox.RdfFormat.N_TRIPLES)
        store.flush()
    return store


def ask(store: ox.Store, query: str) -> Answer:
    """Answer a SPARQL 1.1 query; the prefixes of :data:`weft.kg.storage.rdf.PREFIXES` need no declaration.

    Raises:
        InputError: A syntax error, with what is wrong and where; SERVICE, which would leave this machine.
        LimitError: Brackets within brackets within brackets.
    """
    _check_depth(query)
    escaped = dots_escaped(query)
    _check_local(query, escaped)
    try:
        found = store.query(escaped, prefixes=PREFIXES)
    except SyntaxError as error:
        raise _no_sparql(query, escaped, str(error)) from error
    try:
        if isinstance(found, ox.QueryBoolean):
            return Answer((), [], bool(found))
        if isinstance(found, ox.QuerySolutions):
            variables = tuple(variable.value for variable in found.variables)
            return Answer(variables, [tuple(_term(value) for value in row) for row in found])
        rows = [(_term(item.subject), _term(item.predicate), _term(item.object)) for item in found]
    except (OSError, RuntimeError) as error:
        raise InputError(f"cannot be answered: {error}", where="query") from error
    return Answer(("subject", "predicate", "object"), rows, graph=True)


def _check_depth(query: str) -> None:
    """Refuse what the parser's stack may not hold; brackets in texts count, which only refuses more."""
    depth = 0
    for found in re.finditer(r"[{}()\[\]]", query):
        depth = depth + 1 if found[0] in "{([" else max(depth - 1, 0)
        if depth > _DEEPEST:
            raise LimitError(
                f"more than {_DEEPEST} brackets within each other", where=_where(query, found.start())
            )


def _check_local(query: str, escaped: str) -> None:
    """Refuse the keyword SERVICE, which makes the engine ask other machines.

    Whether these letters are the keyword or part of a name, a text or a comment, only the engine's own parser
    decides. So it is given the query with their last letter changed: where they were no keyword, it parses as
    before; where they were, it does not, for no other word may stand there. That query holds the keyword nowhere,
    and is asked of an empty store.
    """
    changed = _SERVICE.sub(lambda found: found[0][:-1] + ("x" if found[0][-1] == "e" else "X"), escaped)
    if changed == escaped:
        return
    try:
        ox.Store().query(changed, prefixes=PREFIXES)
    except SyntaxError as error:
        # The query itself is given to no engine: it may be what would ask.
        keyword = next((word for word in words(query) if word.text.upper() == "SERVICE"), None)
        if keyword is None and diagnose(query, PREFIXES, str(error)) is not None:
            raise _no_sparql(query, escaped, str(error)) from error
        found = _SERVICE.search(query)
        start = keyword.start if keyword is not None else found.start() if found is not None else 0
        raise InputError(
            "SERVICE asks other machines, and nothing leaves this one", where=_where(query, start)
        ) from error


def _no_sparql(query: str, escaped: str, said: str) -> InputError:
    """The error of a query that does not parse: what is wrong with it, or else where the parser stopped.

    Args:
        query: The query.
        escaped: What the parser was given.
        said: Its message.
    """
    found = diagnose(query, PREFIXES, said)
    if found is not None:
        return InputError(f"not SPARQL: {found.what}", where=_where(query, found.offset), hint=found.hint)
    position = _POSITION.search(said)
    where = "query"
    if position is not None:
        # Lines are the same, of columns what was put in before is none of the query's.
        line = int(position[1]) - 1
        asked, given = (text.split("\n")[line] for text in (query, escaped))
        column = 0
        for letter in given[: int(position[2]) - 1]:
            column += asked[column : column + 1] == letter
        where = f"query, line {line + 1}, column {column + 1}"
    return InputError("not SPARQL: what stands up to here cannot go on so", where=where)


def _where(query: str, offset: int) -> str:
    line, column = _place(query, offset)
    return f"query, line {line}, column {column}"


def _term(value: object) -> Term | None:
    if isinstance(value, ox.NamedNode):
        return Term("uri", value.value)
    if isinstance(value, ox.Literal):
        plain = value.datatype.value.endswith("#string")
        return Term("literal", value.value, None if plain else value.datatype.value, value.language)
    return None if value is None else Term("bnode", str(value))


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _install(graph: Graph, index: Path) -> None:
    """Build the index beside, then rename it into place; whoever comes second uses the first one's."""
    make_folder(index.parent)
    try:
        with replaced_folder(index, new=True) as part:
            build_index(graph, part)
    except OutputError:
        if not index.is_dir():
            raise
    if index.parent.is_symlink():
        return  # what lies there may be anybody's
    current = f"{graph.manifest.generation}{_VERSION}-"
    for old in index.parent.iterdir():
        number = old.name.partition("-")[0]
        # What is newer is another reader's; of this state, other versions of the statements are old.
        if (
            number.isdigit()
            and int(number) <= graph.manifest.generation
            and not f"{old.name}-".startswith(current)
        ):
            shutil.rmtree(old, ignore_errors=True)
