"""A graph as RDF, in N-Triples, the same bytes for the same facts.

    entity  relation  entity .                                        each kept fact
    entity  rdfs:label  "name" .
    assertion  rdf:subject | rdf:predicate | rdf:object  … .          one node for each fact
    assertion  weft:confidence  "0.93"^^xsd:decimal .
    assertion  weft:origin  "tree" | "model" | "words" | "label" .     stated by the syntax, inferred by a model, of a
                                                                       relation that it was asked for by its words,
                                                                       stated by the label of a table or form
    entity  weft:kind  "class" .                                       where it is known
    entity  weft:value  "1999-05-12"^^xsd:date .                       of a date or an amount; weft:unit beside it
    assertion  weft:source  <urn:weft:document:…#char=10,20;sentence=1f0c9a2b> .   each place that states it
    place  weft:document | weft:start | weft:end | weft:line | weft:sentence  … .
    document  weft:model | weft:sha256  "…" .
    assertion  weft:combinedBy  "name" .                               an endpoint's model, where one combined the tail

An assertion node, and not RDF-star: patterns over quoted triples cost seconds where these cost milliseconds.
A place is named by its document, the character range of RFC 5147 and a hash of its sentence: what stands at one range
depends on the fact, for a fact whose tail is named elsewhere has both sentences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.kg.storage.escape import escaped, flat, percent
from weft.kg.storage.graph import Graph

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
VERSION = 3
"""Of what is written for a graph: an index of another one is built anew."""
_BLOCK = 50_000
_DIGEST = 10
"""Bytes of a fact's hash."""
_SENTENCE_DIGEST = 4
"""Bytes of a sentence's hash: it tells apart what stands at one range."""


def iri(space: str, name: str) -> str:
    """The IRI of an entity, a relation or a document, without angle brackets."""
    return space + quote(name, safe="/" if space == DOCUMENT else "")


def ntriples(graph: Graph) -> Iterator[bytes]:
    """The graph in blocks of whole lines."""
    names = pa.array(graph.entities, pa.string())
    for start in range(0, len(names), _BLOCK):
        some = names.slice(start, _BLOCK)
        yield _bytes(_join([_iris(some, ENTITY), f"<{RDFS}label>", _concat('"', escaped(some), '"')]))
    for name in graph.entities:
        if graph.kind(name):
            yield f"<{iri(ENTITY, name)}> <{TERM}kind> {literal(graph.kind(name))} .\n".encode()
        value = graph.value(name)
        if value is not None:
            said = f"{literal(value.text)}^^<{XSD}{value.datatype}>"
            yield f"<{iri(ENTITY, name)}> <{TERM}value> {said} .\n".encode()
            if value.unit:
                yield f"<{iri(ENTITY, name)}> <{TERM}unit> {literal(value.unit)} .\n".encode()
    for item in graph.documents.sort_by("document").to_pylist():
        node = f"<{iri(DOCUMENT, item['document'])}>"
        yield f"{node} <{TERM}model> {literal(item['model'])} .\n".encode()
        yield f"{node} <{TERM}sha256> {literal(item['sha256'])} .\n".encode()
    nodes = assertion_nodes(graph.triples)
    for start in range(0, len(graph), _BLOCK):
        yield _assertions(graph.triples.slice(start, _BLOCK), nodes.slice(start, _BLOCK))
    yield from _places(graph, nodes)


def literal(text: str) -> str:
    """A string as N-Triples writes it."""
    return f'"{escaped(pa.array([text], pa.string()))[0].as_py()}"'


def _assertions(triples: pa.Table, node: pa.StringArray) -> bytes:
    head = _iris(triples["head"], ENTITY)
    relation = _iris(triples["relation"], RELATION)
    tail = _iris(triples["tail"], ENTITY)
    origin = _concat('"', triples["origin"].combine_chunks(), '"')
    confidence = triples["confidence"].combine_chunks().dictionary_encode()
    known = [f'"{value:.4f}"^^<{XSD}decimal>' for value in confidence.dictionary.to_pylist()]
    number = pa.array(known, pa.string()).take(confidence.indices)
    rows = _join(
        [head, relation, tail],
        [node, f"<{RDF}subject>", head],
        [node, f"<{RDF}predicate>", relation],
        [node, f"<{RDF}object>", tail],
        [node, f"<{TERM}confidence>", number],
        [node, f"<{TERM}origin>", origin],
    )
    return _bytes(rows)


def assertion_nodes(triples: pa.Table) -> pa.StringArray:
    """The node of each fact: named after a hash of it, so that it is the same in every store."""
    columns = [triples[name].cast(pa.binary()) for name in ("head", "relation", "tail")]
    keys = pc.call_function("binary_join_element_wise", [*columns, pa.scalar(b"\0")]).to_pylist()
    digests = b"".join(hashlib.blake2b(key, digest_size=_DIGEST).digest() for key in keys)
    bounds = np.arange(len(keys) + 1, dtype=np.int32) * (2 * _DIGEST)
    names = pa.StringArray.from_buffers(
        len(keys), pa.py_buffer(bounds), pa.py_buffer(digests.hex().encode("ascii"))
    )
    return _concat(f"<{ASSERTION}", names, ">")


def _places(graph: Graph, nodes: pa.StringArray) -> Iterator[bytes]:
    """Which places state which fact, and what stands there; each place once."""
    first, count = (graph.triples[name].to_numpy().astype(np.int64) for name in ("first", "evidence"))
    # Rows of evidence, fact by fact: those of facts that are not kept lie between them.
    rows = np.repeat(first - np.append(0, count.cumsum())[:-1], count) + np.arange(count.sum())
    owner = np.repeat(np.arange(len(count)), count)
    evidence = graph.evidence.take(pa.array(rows))
    place, new = _numbered(evidence)
    # Two chunks may state a fact at one place: that is one statement.
    once = _first_of(owner * (len(place) + 1) + place)
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        some = evidence.slice(start, _BLOCK)
        names, facts = _place_nodes(some), nodes.take(pa.array(owner[part]))
        yield _bytes(_join([facts, f"<{TERM}source>", names]).filter(pa.array(once[part])))
        yield _described(some.filter(pa.array(new[part])), names.filter(pa.array(new[part])))
    named = zip(owner.tolist(), evidence["combined"].to_pylist(), strict=True)
    for fact, name in sorted({(fact, name) for fact, name in named if name}):
        yield f"{nodes[fact]} <{TERM}combinedBy> {literal(name)} .\n".encode()


def _numbered(evidence: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A number for the place of each row, and whether it is the first row of its place."""
    span = evidence["start"].to_numpy().astype(np.int64) << 32 | evidence["end"].to_numpy()
    _, place = np.unique(span, return_inverse=True)
    for name in ("document", "sentence"):
        encoded = evidence[name].combine_chunks().dictionary_encode()
        code = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, place = np.unique(code * (len(span) + 1) + place, return_inverse=True)
    return place, _first_of(place)


def _first_of(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    result = np.zeros(len(keys), dtype=bool)
    result[np.unique(keys, return_index=True)[1]] = True
    return result


def _place_nodes(evidence: pa.Table) -> pa.StringArray:
    document = _iris(evidence["document"], DOCUMENT)
    bare = pc.call_function("utf8_slice_codeunits", [document], pc.SliceOptions(0, -1))
    start, end = (evidence[name].cast(pa.string()) for name in ("start", "end"))
    sentence = evidence["sentence"].combine_chunks().dictionary_encode()
    hashes = pa.array(
        [
            hashlib.blake2b(text.encode(), digest_size=_SENTENCE_DIGEST).hexdigest()
            for text in sentence.dictionary.to_pylist()
        ],
        pa.string(),
    ).take(sentence.indices)
    return _concat(bare, "#char=", start, ",", end, ";sentence=", hashes, ">")


def _described(evidence: pa.Table, place: pa.StringArray) -> bytes:
    """What is known of places: document, characters, line, sentence."""
    start, end, line = (
        _concat('"', evidence[name].cast(pa.string()), f'"^^<{XSD}integer>')
        for name in ("start", "end", "line")
    )
    sentence = escaped(evidence["sentence"].combine_chunks())
    return _bytes(
        _join(
            [place, f"<{TERM}document>", _iris(evidence["document"], DOCUMENT)],
            [place, f"<{TERM}start>", start],
            [place, f"<{TERM}end>", end],
            [place, f"<{TERM}line>", line],
            [place, f"<{TERM}sentence>", _concat('"', sentence, '"')],
        )
    )


def _iris(column: pa.ChunkedArray | pa.StringArray, space: str) -> pa.StringArray:
    """IRIs in angle brackets; each name is encoded once."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    names = percent(encoded.dictionary, b"/" if space == DOCUMENT else b"")
    return _concat(f"<{space}", names, ">").take(encoded.indices)


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
    """All strings of an array, one after the other: its buffer as it is."""
    return flat(rows)[1].tobytes()
