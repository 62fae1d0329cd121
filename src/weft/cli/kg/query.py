"""``weft kg query``: ask a store in SPARQL."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from weft.errors import ConfigError, InputError

if TYPE_CHECKING:
    from weft.kg.store.sparql import Answer, Term

_FORMS = ("table", "json", "csv")


def parser() -> argparse.ArgumentParser:
    """The arguments of ``weft kg query``."""
    result = argparse.ArgumentParser(
        prog="weft kg query",
        description="Ask a store in SPARQL 1.1. Known prefixes: e: entities, r: relations, d: documents, weft: "
        "(confidence, source, document, start, end, line, sentence, model), rdf: rdfs: xsd:.",
    )
    result.add_argument("store", type=Path, metavar="STORE")
    result.add_argument("query", metavar="QUERY", help="the query, or - for the standard input")
    result.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="most time for the answer (60)"
    )
    result.add_argument("--format", choices=_FORMS, default="table", help="of the answer (table)")
    result.add_argument("--json", action="store_const", const="json", dest="format", help="as --format json")
    return result


def run(argv: list[str]) -> int:
    """Run ``weft kg query``."""
    arguments = parser().parse_args(argv)
    from weft.kg.store.sparql import answer, locate_index

    if arguments.timeout <= 0:
        raise ConfigError(f"--timeout is {arguments.timeout:g}; it must be above 0")

    query = sys.stdin.read() if arguments.query == "-" else arguments.query
    if not query.strip():
        raise InputError("an empty query", hint="try 'SELECT * WHERE { ?s ?p ?o } LIMIT 10'")
    with locate_index(arguments.store) as place:
        found = answer(place, query, arguments.timeout)
    if arguments.format == "json":
        print(json.dumps(sparql_json(found), ensure_ascii=False))
    elif found.truth is not None:
        print("yes" if found.truth else "no")
    elif arguments.format == "csv":
        writer = csv.writer(sys.stdout)
        writer.writerow(found.variables)
        writer.writerows([["" if term is None else term.value for term in row] for row in found.rows])
    else:
        print_table(found)
    return 0


def sparql_json(answer: Answer) -> dict[str, object]:
    """The answer in the SPARQL 1.1 results format."""
    if answer.truth is not None:
        return {"head": {}, "boolean": answer.truth}
    bindings = [
        {name: _json(term) for name, term in zip(answer.variables, row, strict=True) if term is not None}
        for row in answer.rows
    ]
    return {"head": {"vars": list(answer.variables)}, "results": {"bindings": bindings}}


def print_table(answer: Answer) -> None:
    """The answer as a table, entities and relations by their names."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="bold")
    for name in answer.variables:
        table.add_column(name, overflow="fold")
    for row in answer.rows:
        # Text, for what a corpus says is no markup.
        table.add_row(*(Text("" if term is None else readable(term)) for term in row))
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
    console.print(f"{len(answer.rows)} rows", highlight=False)


def readable(term: Term) -> str:
    """A term as a person reads it: the name behind an IRI of this store."""
    if term.kind == "uri" and term.value.startswith("urn:weft:"):
        return unquote(term.value.split(":", 3)[3])
    return term.value


def _json(term: Term) -> dict[str, str]:
    found = {"type": term.kind, "value": term.value}
    if term.datatype is not None:
        found["datatype"] = term.datatype
    return found
