"""From evidence to facts: names to entities, one row for each fact, the kept ones by a target precision."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.kg.spelling import plain
from weft.kg.storage.layout import NAMES, TRIPLES, Spelling
from weft.kg.values import value_of
from weft.platform.confidence import threshold_at


class Derived(NamedTuple):
    """What evidence adds up to.

    Args:
        triples: The table of that name, by head, relation and tail.
        names: The table of that name, by name.
        evidence: The evidence in the order of the triples, then by document and place.
    """

    triples: pa.Table
    names: pa.Table
    evidence: pa.Table


def fold(name: str, spelling: Spelling) -> str:
    """What names of one entity have in common: with ``"folded"`` all but case, width, spaces and a date's order.

    Which apostrophe or hyphen is written, and marks that have no width, are no difference either.
    """
    if spelling == "exact":
        return name
    date = value_of(name)
    if date is not None:
        return date.text
    return " ".join(unicodedata.normalize("NFKC", plain(name)).casefold().split())


def live(documents: pa.Table, evidence: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The last row of each document, and the evidence that belongs to it.

    Args:
        documents: The table, with rows that later ones replace.
        evidence: The table, with rows of revisions that no longer count.
    """
    names, revisions = documents["document"].to_pylist(), documents["revision"].to_pylist()
    last = dict(zip(names, revisions, strict=True))
    keep = [last[name] == revision for name, revision in zip(names, revisions, strict=True)]
    documents = documents.filter(pa.array(keep, pa.bool_()))
    documents = documents.filter(pc.field("status") != "removed")
    # A revision is given once in a store's life: it names the document's row.
    return documents, evidence.filter(pc.field("revision").isin(documents["revision"].to_pylist()))


def entities(names: Mapping[str, int], aliases: Mapping[str, str], spelling: Spelling) -> dict[str, str]:
    """The entity of every name.

    Names that fold to one form are one entity, called by its most frequent name, the first in the alphabet
    among equals; an alias leads to the entity that it was merged into, over as many steps as it takes.

    Args:
        names: Name to number of mentions.
        aliases: Alias to the name of its entity.
        spelling: How names fold.
    """
    called: dict[str, str] = {}
    for name in sorted(names, key=lambda name: (-names[name], name)):
        called.setdefault(fold(name, spelling), name)
    leads = {fold(alias, spelling): entity for alias, entity in aliases.items()}
    for entity in leads.values():
        called.setdefault(fold(entity, spelling), entity)

    def entity_of(name: str) -> str:
        key = fold(name, spelling)
        seen = {key}
        while key in leads:
            key = fold(leads[key], spelling)
            if key in seen:
                break
            seen.add(key)
        return called[key]

    return {name: entity_of(name) for name in names}


def derive(
    evidence: pa.Table, aliases: Mapping[str, str], spelling: Spelling, precision: float | None
) -> Derived:
    """Add the evidence up.

    A fact's confidence is that of its surest evidence. With a precision the surest facts are kept, as long
    as the mean of their confidences is at least that. What places say of two names that are one entity is no fact of
    it with itself: a spouse that was merged into a person is not his own. It is not kept, and comes back where the
    names are two again.

    Args:
        evidence: Rows that count.
        aliases: Alias to entity.
        spelling: How names fold.
        precision: Share of right facts among the kept; None keeps all.
    """
    heads, tails = (_encode(evidence[side]) for side in ("head", "tail"))
    every: list[str] = pa.concat_arrays([heads.dictionary, tails.dictionary]).unique().to_pylist()
    mentions = dict.fromkeys(every, 0)
    for side in (heads, tails):
        counts = np.bincount(_codes(side), minlength=len(side.dictionary)).tolist()
        for name, count in zip(side.dictionary.to_pylist(), counts, strict=True):
            mentions[name] += count
    entity = entities(mentions, aliases, spelling)
    # Codes that sort as the strings do, so that rows are ordered by integers.
    ordered = sorted(set(entity.values()))
    rank = {name: number for number, name in enumerate(ordered)}
    head, tail = (
        np.array([rank[entity[name]] for name in side.dictionary.to_pylist()], dtype=np.int64)[_codes(side)]
        if len(side)
        else np.zeros(0, dtype=np.int64)
        for side in (heads, tails)
    )
    relation, relations = _ranked(evidence["relation"])
    document, _ = _ranked(evidence["document"])
    place = [evidence[name].to_numpy() for name in ("start", "chunk_start", "end")]
    order = np.lexsort((*reversed(place), document, tail, relation, head))
    head, relation, tail, document = head[order], relation[order], tail[order], document[order]
    evidence = evidence.take(pa.array(order))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(head) != 0) | (np.diff(relation) != 0) | (np.diff(tail) != 0)
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(order)))
    other = new.copy()
    other[1:] |= np.diff(document) != 0
    confidence = _by_group(np.maximum, evidence["confidence"].to_numpy(), first)
    stated = _by_group(np.logical_or, _is(evidence["origin"], "tree"), first)
    origin = evidence["origin"].take(pa.array(first)).to_pylist()
    apart = pc.call_function("not_equal", [evidence["head"], evidence["tail"]]).to_numpy()
    with_itself = (head[first] == tail[first]) & _by_group(np.logical_and, apart, first)
    # What the tree states is right: it says nothing about how far a model may be believed.
    least = (
        0.0 if precision is None else threshold_at(confidence[~(stated | with_itself)].tolist(), precision)
    )
    labels = pa.array(ordered, pa.string())
    triples = pa.table(
        [
            labels.take(pa.array(head[first])),
            pa.array(relations, pa.string()).take(pa.array(relation[first])),
            labels.take(pa.array(tail[first])),
            pa.array(confidence),
            pa.array(count.astype(np.int32)),
            pa.array(_by_group(np.add, other.astype(np.int32), first)),
            pa.array(np.where(stated, "tree", origin).tolist(), pa.string()),
            pa.array(first.astype(np.int64)),
            pa.array((stated | (confidence >= least)) & ~with_itself),
        ],
        schema=TRIPLES,
    )
    listed = sorted(every)
    kinds = _kinds(evidence)
    names = pa.table(
        [
            listed,
            [entity[name] for name in listed],
            [mentions[name] for name in listed],
            [kinds.get(name, "") for name in listed],
        ],
        schema=NAMES,
    )
    return Derived(triples, names, evidence)


def _kinds(evidence: pa.Table) -> dict[str, str]:
    """What each name is: as most of its evidence says, the first in the alphabet among equals."""
    counts: dict[str, Counter[str]] = {}
    for side in ("head", "tail"):
        pairs = evidence.group_by([side, f"{side}_kind"]).aggregate([([], "count_all")])
        columns = (pairs[name].to_pylist() for name in (side, f"{side}_kind", "count_all"))
        for name, kind, count in zip(*columns, strict=True):
            if kind:
                counts.setdefault(name, Counter())[kind] += count
    return {name: min(found, key=lambda kind: (-found[kind], kind)) for name, found in counts.items()}


def _is(column: pa.ChunkedArray, value: str) -> NDArray[np.bool_]:
    found = pc.call_function("equal", [column, pa.scalar(value)])
    return found.to_numpy().astype(bool) if len(column) else np.zeros(0, dtype=bool)


def _encode(column: pa.ChunkedArray) -> pa.DictionaryArray:
    encoded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = pa.concat_arrays(encoded.chunks)
    return encoded


def _codes(encoded: pa.DictionaryArray) -> NDArray[np.int64]:
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _ranked(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[str]]:
    """Codes in the order of the strings, and the strings."""
    encoded = _encode(column)
    values = encoded.dictionary.to_pylist()
    ordered = sorted(values)
    rank = {name: number for number, name in enumerate(ordered)}
    ranks = np.array([rank[name] for name in values], dtype=np.int64)
    return (ranks[_codes(encoded)] if len(encoded) else np.zeros(0, dtype=np.int64)), ordered


def _by_group(ufunc: np.ufunc, values: NDArray[Any], first: NDArray[np.int64]) -> NDArray[Any]:
    return ufunc.reduceat(values, first) if len(first) else values[:0]
