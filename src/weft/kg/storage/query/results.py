"""Answers of SPARQL in the formats of its protocol: JSON, XML, CSV, TSV, and N-Triples for graphs."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from weft.kg.storage.query.sparql import Answer, Term
from weft.platform.spreadsheet import write_rows

_XML = '<?xml version="1.0" encoding="UTF-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def sparql_json(answer: Answer) -> dict[str, Any]:
    """The answer in the SPARQL 1.1 results format."""
    if answer.truth is not None:
        return {"head": {}, "boolean": answer.truth}
    bindings = [
        {name: _json(term) for name, term in zip(answer.variables, row, strict=True) if term is not None}
        for row in answer.rows
    ]
    return {"head": {"vars": list(answer.variables)}, "results": {"bindings": bindings}}


def sparql_xml(answer: Answer) -> str:
    """The answer in the SPARQL results format of XML; characters that XML has none for are shown as �."""
    if answer.truth is not None:
        return f"{_XML}<head/><boolean>{str(answer.truth).lower()}</boolean></sparql>\n"
    head = "".join(f"<variable name={quoteattr(name)}/>" for name in answer.variables)
    rows = (
        "<result>"
        + "".join(
            f"<binding name={quoteattr(name)}>{_xml(term)}</binding>"
            for name, term in zip(answer.variables, row, strict=True)
            if term is not None
        )
        + "</result>\n"
        for row in answer.rows
    )
    return f"{_XML}<head>{head}</head><results>\n{''.join(rows)}</results></sparql>\n"


def sparql_csv(answer: Answer) -> str:
    """The answer as CSV: values alone."""
    out = io.StringIO()
    write_rows(out, [answer.variables])
    write_rows(out, (["" if term is None else term.value for term in row] for row in answer.rows))
    return out.getvalue()


def sparql_tsv(answer: Answer) -> str:
    """The answer as TSV: terms as SPARQL writes them."""
    lines = ["\t".join(f"?{name}" for name in answer.variables)]
    lines += ["\t".join("" if term is None else turtle(term) for term in row) for row in answer.rows]
    return "\n".join(lines) + "\n"


def ntriples(answer: Answer) -> str:
    """The graph of a CONSTRUCT or DESCRIBE as N-Triples."""
    lines = (" ".join(turtle(term) for term in row if term is not None) + " .\n" for row in answer.rows)
    return "".join(lines)


RESULTS: dict[str, Callable[[Answer], str]] = {
    "application/sparql-results+xml": sparql_xml,
    "application/xml": sparql_xml,
    "text/csv": sparql_csv,
    "text/tab-separated-values": sparql_tsv,
}
"""How a SELECT is written in each format but JSON; an ASK in those of XML."""
GRAPHS = ("application/n-triples", "text/turtle", "text/plain")
"""What N-Triples may be called: they are Turtle as well."""


def turtle(term: Term) -> str:
    """A term as Turtle and SPARQL write it."""
    if term.kind == "uri":
        return f"<{term.value}>"
    if term.kind == "bnode":
        return term.value if term.value.startswith("_:") else f"_:{term.value}"
    text = f'"{term.value.translate(_ESCAPED)}"'
    if term.language is not None:
        return f"{text}@{term.language}"
    return text if term.datatype is None else f"{text}^^<{term.datatype}>"


def _json(term: Term) -> dict[str, str]:
    found = {"type": term.kind, "value": term.value}
    if term.language is not None:
        found["xml:lang"] = term.language
    elif term.datatype is not None:
        found["datatype"] = term.datatype
    return found


def _xml(term: Term) -> str:
    text = escape("".join(letter if _in_xml(letter) else "�" for letter in term.value))
    if term.kind == "literal":
        more = f" datatype={quoteattr(term.datatype)}" if term.datatype else ""
        more = f" xml:lang={quoteattr(term.language)}" if term.language else more
        return f"<literal{more}>{text}</literal>"
    return f"<{term.kind}>{text}</{term.kind}>"


def _in_xml(letter: str) -> bool:
    return (
        letter in "\t\n\r"
        or " " <= letter <= "\ud7ff"
        or (letter >= "\ue000" and letter not in "\ufffe\uffff")
    )
