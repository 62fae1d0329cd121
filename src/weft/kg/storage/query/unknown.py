"""Relations that a query names and its store does not have: why an answer may be empty."""

from __future__ import annotations

import difflib
from pathlib import Path
from urllib.parse import unquote

from weft.kg.storage.manifest import read_manifest
from weft.kg.storage.parts import read_parts
from weft.kg.storage.query.diagnosis import named_iris
from weft.kg.storage.rdf import PREFIXES, RELATION, iri

_LISTED = 5


def unknown_relations(folder: Path, query: str) -> str:
    """What there is to say of relations that a query names and the store does not have; empty where it has all.

    A relation that a variable stands for is not named; one of the store's schema is known, with or without a fact.

    Args:
        folder: The store.
        query: SPARQL that was answered.

    Raises:
        StoreError: The store is damaged.
    """
    named = [item for item in named_iris(query, PREFIXES) if item.startswith(RELATION)]
    if not named:
        return ""
    try:
        relations = read_parts(folder, read_manifest(folder), "relations", ["relation"])[
            "relation"
        ].to_pylist()
    except FileNotFoundError:
        return ""  # a writer is replacing the store: what it has is known to the next query
    known = {iri(RELATION, name): name for name in relations}
    lacking = [item for item in dict.fromkeys(named) if item not in known and item != RELATION]
    return (
        f"the store has no relation {'; no '.join(_told(item, relations) for item in lacking)}"
        if lacking
        else ""
    )


def _told(item: str, relations: list[str]) -> str:
    """An unknown relation and the nearest that is known, both as a query writes them."""
    name = item.removeprefix(RELATION)
    by_reading = {_read(relation): relation for relation in relations}
    near = difflib.get_close_matches(_read(unquote(name)), list(by_reading), 1)
    if near:
        return f"r:{name} (did you mean {_written(by_reading[near[0]])}?)"
    more = ", …" if len(relations) > _LISTED else ""
    listed = ", ".join(_written(relation) for relation in sorted(relations)[:_LISTED])
    return f"r:{name} (it has {listed or 'none'}{more})"


def _read(name: str) -> str:
    return name.casefold().replace(" ", "_")


def _written(relation: str) -> str:
    return f"r:{iri('', relation)}"
