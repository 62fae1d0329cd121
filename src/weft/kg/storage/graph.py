"""A store in memory, as it was at one moment: facts by entity, their evidence, names that come near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.errors import InputError, StoreError, counted
from weft.kg.storage.derive import derive, fold, live
from weft.kg.storage.layout import ORIGINS_OF, Only
from weft.kg.storage.manifest import Manifest, read_manifest
from weft.kg.storage.parts import read_parts
from weft.kg.values import Value, value_of

_ATTEMPTS = 5
_CANDIDATES = 20
"""Entities that an error lists."""


@dataclass(frozen=True)
class Place:
    """Where a fact is stated; :class:`weft.kg.storage.layout.Evidence` with its document and model.

    Args:
        document: Name of the document.
        line: Line of the head, from 1.
        start: First character of the head in the document.
        end: The one after its last.
        chunk: Characters of the chunk that the model read.
        sentence: The sentence or line of source.
        confidence: Of this place alone.
        model: Version of the model that read it.
        head: The head as named there.
        tail: The tail as spelled there.
        combined: The endpoint's model that put the tail together; empty where the model spelled it.
        origin: ``"tree"`` where the syntax states it, ``"model"`` where a model inferred it; ``"words"``: of a
            relation that the model was asked for by its words; ``"label"``: stated by that of a table or form.
    """

    document: str
    line: int
    start: int
    end: int
    chunk: tuple[int, int]
    sentence: str
    confidence: float
    model: str
    head: str
    tail: str
    combined: str
    origin: str


@dataclass(frozen=True)
class Fact:
    """One fact of the graph.

    Args:
        head: An entity.
        relation: Name of the relation.
        tail: An entity.
        confidence: Of its surest evidence.
        evidence: Number of places that state it.
        origin: ``"tree"`` where the syntax states it, ``"model"`` where a model inferred it; ``"words"``: of a
            relation that the model was asked for by its words; ``"label"``: stated by that of a table or form.
        row: Its row among the triples.
    """

    head: str
    relation: str
    tail: str
    confidence: float
    evidence: int
    origin: str
    row: int


class Graph:
    """The kept facts of a store, and where they come from.

    Args:
        folder: The store.
        manifest: The moment.
        tables: ``documents``, ``evidence``, ``triples`` (kept ones), ``names``, ``aliases``, ``relations``
            and ``runs``.
    """

    def __init__(self, folder: Path, manifest: Manifest, tables: dict[str, pa.Table]) -> None:
        self.folder = folder
        self.manifest = manifest
        self.documents = tables["documents"]
        self.evidence = tables["evidence"]
        self.triples = tables["triples"]
        self.names = tables["names"]
        self.aliases = tables["aliases"]
        self.relations = tables["relations"]
        self.runs = tables["runs"]

    @staticmethod
    def load(store: str | Path, only: Only | None = None) -> Graph:
        """Read a store.

        Args:
            store: Its folder.
            only: Stated facts alone, or inferred ones; both where None.

        Raises:
            StoreError: No store, one of another version, or a damaged one.
        """
        folder = Path(store)
        manifest = read_manifest(folder)
        for _ in range(_ATTEMPTS):
            try:
                return Graph(folder, manifest, _tables(folder, manifest, only))
            except FileNotFoundError as error:
                # A writer replaced files between the two readings: its manifest names the new ones.
                newer = read_manifest(folder)
                if newer.generation == manifest.generation:
                    raise StoreError(f"a file of the store is missing: {error}", where=str(folder)) from error
                manifest = newer
        raise StoreError("is written to too fast to be read", where=str(folder), hint="try again")

    def __repr__(self) -> str:
        return f"<{self.folder}: {counted(len(self), 'fact')}>"

    def __len__(self) -> int:
        return len(self.triples)

    @property
    def num_places(self) -> int:
        """Rows of evidence, those of facts that are not kept among them."""
        return len(self.evidence)

    @cached_property
    def entities(self) -> list[str]:
        """Every entity that a kept fact speaks of, in the order of the alphabet."""
        return sorted(set(self._heads[1]) | set(self._tails[1]))

    def entity(self, name: str) -> str:
        """The entity of a name, an alias, another spelling, or the one whose qualified name ends so.

        Raises:
            InputError: An empty name; there is none, or there are several: names that come near, or all that end so,
                are listed.
        """
        if not name.strip():
            raise InputError("no name is given", where=str(self.folder))
        found = self.find(name) or self.with_other_article(name)
        if found is not None:
            return found
        # One whose facts are all of the other origin (``only``) is an entity all the same.
        ending = self.ending(name) or self._ending(name, sorted(set(self._entity_of.values())))
        if len(ending) == 1:
            return ending[0]
        if ending:
            shown = ", ".join(ending[:_CANDIDATES])
            more = f" and {len(ending) - _CANDIDATES} more" if len(ending) > _CANDIDATES else ""
            raise InputError(
                f"{len(ending)} entities end in {name!r}", where=str(self.folder), hint=f"{shown}{more}"
            )
        near = self.near(name)
        raise InputError(
            f"no entity {name!r}", where=str(self.folder), hint=f"near: {', '.join(near)}" if near else None
        )

    def find(self, name: str) -> str | None:
        """The entity of a name, an alias or another spelling; None where there is none."""
        if name in self._entity_of:
            return self._entity_of[name]
        return self._by_key.get(fold(name, self.manifest.spelling))

    def with_other_article(self, name: str) -> str | None:
        """The entity of a text whose name has "the" in front where this has none, or the other way round."""
        if self.manifest.spelling != "folded" or not name.strip():
            return None
        first, _, rest = name.partition(" ")
        return self.find(rest if first.casefold() == "the" else f"the {name}")

    def ending(self, name: str) -> list[str]:
        """The definitions whose qualified name ends in a name: ``Context`` of ``flask.ctx.Context``."""
        return self._ending(name, self.entities)

    def _ending(self, name: str, entities: Sequence[str]) -> list[str]:
        end = f".{name}"
        found = [entity for entity in entities if entity.endswith(end)]
        defined = [entity for entity in found if self.kind(entity) not in ("unresolved", "external")]
        return defined or found

    def kind(self, entity: str) -> str:
        """What an entity is, such as ``"class"``; empty where that is not known."""
        return self._kinds.get(entity, "")

    def value(self, entity: str) -> Value | None:
        """The date or the amount that an entity of a text is; None for others."""
        if self.manifest.spelling == "exact":
            return None
        return value_of(entity, self.kind(entity))

    def near(self, name: str, count: int = 5) -> list[str]:
        """Entities whose names share most trigrams with a name, the nearest first.

        J = |trigrams of both| / |trigrams of either|, at least 0.3
        """
        wanted = f" {name.casefold()} "
        grams = {wanted[place : place + 3] for place in range(max(len(wanted) - 2, 1))}
        # A space on each side: the first and the last letters count, and short names have trigrams.
        lower = pc.call_function("utf8_lower", [self.names["name"]])
        lower = pc.call_function(
            "binary_join_element_wise", [pa.scalar(" "), lower, pa.scalar(" "), pa.scalar("")]
        )
        hits = np.zeros(len(lower), dtype=np.int64)
        for gram in sorted(grams):
            options = pc.MatchSubstringOptions(gram)
            hits += pc.call_function("match_substring", [lower], options).to_numpy()
        size = np.maximum(pc.call_function("utf8_length", [lower]).to_numpy() - 2, 1)
        score = hits / np.maximum(size + len(grams) - hits, 1)
        mentions = self.names["mentions"].to_numpy()
        entities = self.names["entity"]
        best = np.lexsort((-mentions, -score))[: 4 * count]
        found = [entities[int(row)].as_py() for row in best if score[row] >= 0.3]
        return list(dict.fromkeys(found))[:count]

    def spellings(self, entity: str) -> list[str]:
        """The other names of an entity in the evidence."""
        rows = self.names.filter(pc.field("entity") == entity)
        return [name for name in rows["name"].to_pylist() if name != entity]

    def facts(self, entity: str | None = None, limit: int | None = None) -> list[Fact]:
        """The facts with this entity as head or as tail, the surest first.

        Args:
            entity: As :meth:`entity` gives it; every entity's facts where None.
            limit: Most facts; all where None.
        """
        rows = self._rows_of(entity)
        sure = self._confidence[rows]
        best = rows[np.lexsort((rows, -sure))][:limit]
        return _facts(self.triples.take(pa.array(best)), best)

    def count(self, entity: str | None = None) -> int:
        """How many facts :meth:`facts` has to give."""
        return len(self) if entity is None else self._counts.get(entity, 0)

    @cached_property
    def by_facts(self) -> list[str]:
        """The entities, those with most facts first; in the order of the alphabet among equals."""
        return sorted(self.entities, key=lambda name: -self._counts[name])

    def fact(self, row: int) -> Fact:
        """One row of the triples."""
        return _facts(self.triples.slice(row, 1), np.array([row]))[0]

    def places(self, row: int) -> list[Place]:
        """The evidence of a fact, the surest first."""
        first, count = self.triples["first"][row].as_py(), self.triples["evidence"][row].as_py()
        found = [
            Place(
                document=item["document"],
                line=item["line"],
                start=item["start"],
                end=item["end"],
                chunk=(item["chunk_start"], item["chunk_end"]),
                sentence=item["sentence"],
                confidence=item["confidence"],
                model=self._models[item["document"]],
                head=item["head"],
                tail=item["tail"],
                combined=item["combined"],
                origin=item["origin"],
            )
            for item in self.evidence.slice(first, count).to_pylist()
        ]
        return sorted(found, key=lambda place: (-place.confidence, place.document, place.start))

    @cached_property
    def _kinds(self) -> dict[str, str]:
        columns = (self.names[name].to_pylist() for name in ("name", "kind"))
        return {name: kind for name, kind in zip(*columns, strict=True) if kind}

    @cached_property
    def _entity_of(self) -> dict[str, str]:
        known = dict(zip(self.names["name"].to_pylist(), self.names["entity"].to_pylist(), strict=True))
        return {**known, **{entity: entity for entity in known.values()}}

    @cached_property
    def _by_key(self) -> dict[str, str]:
        spelling = self.manifest.spelling
        known = {fold(name, spelling): entity for name, entity in self._entity_of.items()}
        # Aliases that no evidence names: nothing but the table knows them.
        columns = (self.aliases[name].to_pylist() for name in ("alias", "entity"))
        leads = {
            fold(alias, spelling): fold(entity, spelling) for alias, entity in zip(*columns, strict=True)
        }
        for alias in leads:
            key, steps = alias, 0
            while key in leads and key not in known and steps < len(leads):
                key, steps = leads[key], steps + 1
            if key in known:
                known.setdefault(alias, known[key])
        return known

    @cached_property
    def _models(self) -> dict[str, str]:
        return dict(
            zip(self.documents["document"].to_pylist(), self.documents["model"].to_pylist(), strict=True)
        )

    def _rows_of(self, entity: str | None) -> NDArray[np.int64]:
        if entity is None:
            return np.arange(len(self), dtype=np.int64)
        return np.union1d(_rows(self._heads, entity), _rows(self._tails, entity))

    @cached_property
    def _counts(self) -> Counter[str]:
        """How many facts each entity has; one of it with itself is one."""
        found = Counter[str]()
        for codes, names in (self._heads, self._tails):
            found.update(dict(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True)))
        itself = pc.call_function("equal", [self.triples["head"], self.triples["tail"]])
        found.subtract(self.triples["head"].filter(itself).to_pylist())
        return found

    @cached_property
    def _confidence(self) -> NDArray[np.float64]:
        return self.triples["confidence"].to_numpy()

    @cached_property
    def _heads(self) -> _Codes:
        return _encoded(self.triples["head"])

    @cached_property
    def _tails(self) -> _Codes:
        return _encoded(self.triples["tail"])


_Codes = tuple[NDArray[np.int32], dict[str, int]]
"""Codes of a column's strings, and the code of each string."""


def _facts(rows: pa.Table, numbers: NDArray[np.int64]) -> list[Fact]:
    columns = (
        rows[name].to_pylist() for name in ("head", "relation", "tail", "confidence", "evidence", "origin")
    )
    return [Fact(*values) for values in zip(*columns, numbers.tolist(), strict=True)]


def _encoded(column: pa.ChunkedArray) -> _Codes:
    if len(column) == 0:
        return np.zeros(0, dtype=np.int32), {}
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return codes, {name: code for code, name in enumerate(encoded.dictionary.to_pylist())}


def _rows(codes: _Codes, entity: str) -> NDArray[np.int64]:
    code = codes[1].get(entity)
    return np.zeros(0, dtype=np.int64) if code is None else np.flatnonzero(codes[0] == code)


def _tables(folder: Path, manifest: Manifest, only: Only | None) -> dict[str, pa.Table]:
    tables = {
        name: read_parts(folder, manifest, name)
        for name in ("documents", "evidence", "aliases", "relations", "runs")
    }
    if manifest.derived:
        tables |= {name: read_parts(folder, manifest, name) for name in ("triples", "names")}
    else:
        # A run is under way, or was killed: what is committed counts all the same.
        tables["documents"], evidence = live(tables["documents"], tables["evidence"])
        aliases = dict(
            zip(*(tables["aliases"][name].to_pylist() for name in ("alias", "entity")), strict=True)
        )
        derived = derive(evidence, aliases, manifest.spelling, manifest.precision)
        tables |= {"triples": derived.triples, "names": derived.names, "evidence": derived.evidence}
    tables["triples"] = tables["triples"].filter(tables["triples"]["kept"])
    if only is not None:
        tables["triples"] = tables["triples"].filter(pc.field("origin").isin(ORIGINS_OF[only]))
    return {name: table.combine_chunks() for name, table in tables.items()}
