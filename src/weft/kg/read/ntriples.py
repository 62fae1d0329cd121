"""N-Triples, line by line, so that a broken line costs no other."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

_IRI = r"<((?:[^<>\"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*)>"
_BLANK = r"(_:[^\s<>\"]+)"
_STRING = r'"((?:[^"\\\n\r]|\\.)*)"(?:\^\^<[^<>]*>|@[A-Za-z][A-Za-z0-9-]*)?'
_LINE = re.compile(rf"\s*(?:{_IRI}|{_BLANK})\s*{_IRI}\s*(?:{_IRI}|{_BLANK}|{_STRING})\s*\.\s*(?:#.*)?")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_LETTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_PREFERRED = ("http://www.w3.org/2004/02/skos/core#prefLabel", "http://www.w3.org/2000/01/rdf-schema#label")
_OTHER = "http://www.w3.org/2004/02/skos/core#altLabel"
_KIND = "urn:weft:term:kind"
_ABOUT_FACTS = re.compile(
    r"urn:weft:term:.*|http://www\.w3\.org/1999/02/22-rdf-syntax-ns#(?:subject|predicate|object)", re.DOTALL
)
"""Predicates by which weft itself exports how sure a fact is and where it stands, beside the fact."""

Statement = tuple[str, str, str]


@dataclass
class Labels:
    """Names and types of the terms of a graph.

    Args:
        preferred: A term's own name.
        other: Its further names.
        types: Its type's name.
        kinds: What weft, which exported it, takes it for.
    """

    preferred: dict[str, str] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def name(self, term: str) -> str:
        """The name of a term: its label, else the last part of its IRI."""
        return self.preferred.get(term) or local_name(term)

    def names(self, term: str) -> list[str]:
        """All names of a term, its own first."""
        return [self.name(term), *self.other.get(term, [])]

    def type(self, term: str) -> str:
        """The name of its type; ``""`` where none is stated."""
        kind = self.types.get(term, "")
        return self.name(kind) if kind else ""


def read_ntriples(text: str) -> tuple[list[tuple[int, Statement]], Labels, list[tuple[int, str]]]:
    """Statements with their line numbers, labels and types apart, and lines that are none.

    A literal stands for itself; an IRI stays an IRI. What weft itself exports beside a fact is read over.
    """
    statements: list[tuple[int, Statement]] = []
    labels, broken = Labels(), list[tuple[int, str]]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.rstrip("\r"))
        if match is None:
            broken.append((number, f"{line.strip()[:80]!r} is no statement"))
            continue
        iri, blank, predicate, object_iri, object_blank, literal = match.groups()
        try:
            subject, predicate = _plain(iri or blank), _plain(predicate)
            object_ = _plain(next(item for item in (object_iri, object_blank, literal) if item is not None))
        except ValueError as error:
            broken.append((number, str(error)))
            continue
        if predicate == _RDF_TYPE:
            labels.types.setdefault(subject, object_)
        elif predicate in _PREFERRED:
            _label(labels, subject, object_, preferred=predicate == _PREFERRED[0])
        elif predicate == _OTHER:
            labels.other.setdefault(subject, []).append(object_)
        elif predicate == _KIND:
            labels.kinds[subject] = object_
        elif not _ABOUT_FACTS.fullmatch(predicate):
            statements.append((number, (subject, predicate, object_)))
    return statements, labels, broken


def last_part(term: str) -> str:
    """The last part of an IRI; another term as it is."""
    if "://" not in term and not term.startswith("urn:"):
        return term
    return unquote(re.split(r"[#/:]", term.rstrip("#/"))[-1])


def local_name(term: str) -> str:
    """The last part of an IRI in words; another term as it is."""
    part = last_part(term)
    return part if part == term else part.replace("_", " ")


def _label(labels: Labels, subject: str, name: str, *, preferred: bool) -> None:
    """The first label is the name, unless a preferred one comes; the others are further names."""
    known = labels.preferred.get(subject)
    if known is None or preferred:
        labels.preferred[subject] = name
        name = known or ""
    if name and name != labels.preferred[subject]:
        labels.other.setdefault(subject, []).append(name)


def _plain(text: str) -> str:
    def spelled(match: re.Match[str]) -> str:
        four, eight, letter = match.groups()
        if letter is not None:
            if letter not in _LETTERS:
                raise ValueError(f"no escape \\{letter}")
            return _LETTERS[letter]
        number = int(four or eight, 16)
        if number > 0x10FFFF or 0xD800 <= number < 0xE000:
            raise ValueError(f"no character {match[0]}")
        return chr(number)

    return _ESCAPE.sub(spelled, text)
