"""``weft kg query``: ask a store in SPARQL."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from urllib.parse import unquote

from weft.cli.options import Parser, add_only, add_shapes, add_store
from weft.cli.table import table
from weft.errors import ConfigError, InputError, counted

if TYPE_CHECKING:
    from weft.kg.storage.query.sparql import Term


def parser() -> Parser:
    """The arguments of ``weft kg query``."""
    result = Parser(
        "kg query",
        "Ask a store in SPARQL 1.1. Known prefixes: e: entities, r: relations, d: documents, weft: (confidence, "
        "source, document, start, end, line, sentence, model), rdf: rdfs: xsd:.",
    )
    add_store(result)
    result.add_argument("query", metavar="QUERY", help="the query, or - for the standard input")
    add_only(result)
    result.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds for the answer, at most (60)"
    )
    add_shapes(result)
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg query``."""
    arguments = parser().parse_args(argv)
    from weft.kg.storage.query.results import sparql_csv, sparql_json
    from weft.kg.storage.query.sparql import answer, locate_index
    from weft.kg.storage.query.unknown import unknown_relations

    if arguments.timeout <= 0:
        raise ConfigError(f"--timeout is {arguments.timeout:g}; it must be above 0")

    query = sys.stdin.read() if arguments.query == "-" else arguments.query
    if not query.strip():
        raise InputError("an empty query", hint="try 'SELECT * WHERE { ?s ?p ?o } LIMIT 10'")
    with locate_index(arguments.store, arguments.only) as place:
        found = answer(place, query, arguments.timeout)
    if not found.rows and not found.truth and (said := unknown_relations(arguments.store, query)):
        print(said, file=sys.stderr)
    if arguments.json:
        print(json.dumps(sparql_json(found), ensure_ascii=False))
    elif found.truth is not None:
        print("yes" if found.truth else "no")
    elif arguments.csv:
        print(sparql_csv(found), end="")
    else:
        rows = [["" if term is None else readable(term) for term in row] for row in found.rows]
        print(table(found.variables, rows))
        print(counted(len(found.rows), "row"))
    return 0


def readable(term: Term) -> str:
    """A term as a person reads it: the name behind an IRI of this store."""
    if term.kind == "uri" and term.value.startswith("urn:weft:"):
        return unquote(term.value.split(":", 3)[3])
    return term.value
