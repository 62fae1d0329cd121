"""A graph as RDF, in N-Triples, the same bytes for the same facts.

    entity  relation  entity .                                        each kept fact
    entity  rdfs:label  "name" .
    assertion  rdf:subject | rdf:predicate | rdf:object  … .          one node for each fact
    assertion  weft:confidence  "0.93"^^xsd:decimal .
    assertion  weft:source  <urn:weft:document:…#char=10,20> .         each place that states it
    place  weft:document | weft:start | weft:end | weft:line | weft:sentence  … .
    document  weft:model | weft:sha256  "…" .

An assertion node, and not RDF-star: patterns over quoted triples cost seconds where these cost milliseconds.
A place is named by its document and the character range of RFC 5147.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kg.store.graph import Graph

ENTITY, RELATION, DOCUMENT = "urn:weft:entity:", "urn:weft:relation:", "urn:weft:document:"
ASSERTION, TERM = "urn:weft:assertion:", "urn:weft:term:"
RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = {
    "e": ENTITY,
    "r": RELATION,
    "d": DOCUMENT,
    "weft": TERM,
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
}
"""Prefixes that every query may use and every Turtle file declares."""
_BLOCK = 50_000


def iri(space: str, name: str) -> str:
    """The IRI of an entity, a relation or a document, without angle brackets."""
    return space + quote(name, safe="/" if space == DOCUMENT else "")


def ntriples(graph: Graph) -> Iterator[bytes]:
    """The graph in blocks of whole lines."""
    for name in graph.entities:
        yield f"<{iri(ENTITY, name)}> <{RDFS}label> {literal(name)} .\n".encode()
    for item in graph.documents.sort_by("document").to_pylist():
        node = f"<{iri(DOCUMENT, item['document'])}>"
        yield f"{node} <{TERM}model> {literal(item['model'])} .\n".encode()
        yield f"{node} <{TERM}sha256> {literal(item['sha256'])} .\n".encode()
    for start in range(0, len(graph), _BLOCK):
        yield _assertions(graph.triples.slice(start, _BLOCK))
    yield from _places(graph)


def literal(text: str) -> str:
    """A string as N-Triples writes it."""
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return f'"{text}"'


_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"))


def _assertions(triples: pa.Table) -> bytes:
    head = _iris(triples["head"], ENTITY)
    relation = _iris(triples["relation"], RELATION)
    tail = _iris(triples["tail"], ENTITY)
    node = pa.array(assertion_nodes(triples))
    confidence = triples["confidence"].to_pylist()
    number = pa.array([f'"{value:.4f}"^^<{XSD}decimal>' for value in confidence], pa.string())
    rows = _join(
        [head, relation, tail],
        [node, f"<{RDF}subject>", head],
        [node, f"<{RDF}predicate>", relation],
        [node, f"<{RDF}object>", tail],
        [node, f"<{TERM}confidence>", number],
    )
    return _bytes(rows)


def assertion_nodes(triples: pa.Table) -> list[str]:
    """The node of each fact: named after a hash of it, so that it is the same in every store."""
    columns = (triples[name].to_pylist() for name in ("head", "relation", "tail"))
    keys = ("\0".join(fact).encode() for fact in zip(*columns, strict=True))
    return [f"<{ASSERTION}{hashlib.blake2b(key, digest_size=10).hexdigest()}>" for key in keys]


def _places(graph: Graph) -> Iterator[bytes]:
    """Which places state which fact, and what stands there; each place once."""
    first, count = (graph.triples[name].to_numpy().astype(np.int64) for name in ("first", "evidence"))
    written: set[str] = set()
    for start in range(0, len(graph), _BLOCK):
        begin, many = first[start : start + _BLOCK], count[start : start + _BLOCK]
        # Rows of evidence, fact by fact: those of facts that are not kept lie between them.
        rows = np.repeat(begin - np.append(0, many.cumsum()[:-1]), many) + np.arange(many.sum())
        evidence = graph.evidence.take(pa.array(rows))
        document = _iris(evidence["document"], DOCUMENT)
        span = [evidence[name].cast(pa.string()) for name in ("start", "end")]
        place = _concat(
            _concat(pc.call_function("utf8_slice_codeunits", [document], pc.SliceOptions(0, -1)), "#char="),
            span[0],
            ",",
            span[1],
            ">",
        )
        node = pa.array(assertion_nodes(graph.triples.slice(start, _BLOCK))).take(
            pa.array(np.repeat(np.arange(len(many)), many))
        )
        names = place.to_pylist()
        owner = np.repeat(np.arange(len(many)), many).tolist()
        # Two chunks may state a fact at one place.
        yield _bytes(
            _join([node, f"<{TERM}source>", place]).filter(pa.array(_firsts(zip(owner, names, strict=True))))
        )
        new = []
        for name in names:
            new.append(name not in written)
            written.add(name)
        keep = pa.array(new, pa.bool_())
        evidence, document, place = evidence.filter(keep), document.filter(keep), place.filter(keep)
        numbers = [
            _concat('"', evidence[name].cast(pa.string()), f'"^^<{XSD}integer>')
            for name in ("start", "end", "line")
        ]
        sentence = evidence["sentence"].combine_chunks()
        for plain, escaped in _ESCAPES:
            options = pc.ReplaceSubstringOptions(plain, escaped)
            sentence = pc.call_function("replace_substring", [sentence], options)
        yield _bytes(
            _join(
                [place, f"<{TERM}document>", document],
                [place, f"<{TERM}start>", numbers[0]],
                [place, f"<{TERM}end>", numbers[1]],
                [place, f"<{TERM}line>", numbers[2]],
                [place, f"<{TERM}sentence>", _concat('"', sentence, '"')],
            )
        )


def _firsts(items: Iterator[tuple[int, str]]) -> list[bool]:
    seen: set[tuple[int, str]] = set()
    result = []
    for item in items:
        result.append(item not in seen)
        seen.add(item)
    return result


def _iris(column: pa.ChunkedArray, space: str) -> pa.StringArray:
    """IRIs in angle brackets; each name is encoded once."""
    encoded = column.combine_chunks().dictionary_encode()
    names = [f"<{iri(space, name)}>" for name in encoded.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(encoded.indices)


def _concat(*parts: object) -> pa.StringArray:
    values = [pa.scalar(part) if isinstance(part, str) else part for part in parts]
    result = pc.call_function("binary_join_element_wise", [*values, pa.scalar("")])
    return result.combine_chunks() if isinstance(result, pa.ChunkedArray) else result


def _join(*statements: list[object]) -> pa.StringArray:
    """Statements of subject, predicate, object, row by row: one string of lines for each row."""
    parts: list[object] = []
    for subject, predicate, target in statements:
        parts += [subject, " ", predicate, " ", target, " .\n"]
    return _concat(*parts)


def _bytes(rows: pa.StringArray) -> bytes:
    return "".join(rows.to_pylist()).encode()
