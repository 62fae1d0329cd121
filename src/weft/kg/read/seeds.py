"""Seed triples and the entities that they speak of, from CSV, TSV, JSONL and N-Triples."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from weft.errors import InputError
from weft.kg.read.funnel import Funnel
from weft.kg.read.ntriples import Labels, last_part, read_ntriples
from weft.kg.schema import Schema
from weft.platform.files import write_json
from weft.platform.reading import csv_reader, parse_json, read_text

COLUMNS = ("head", "relation", "tail", "head_type", "tail_type", "head_aliases", "tail_aliases")
SEED = "a seed has the columns head, relation and tail; the relations are those of the schema"
"""The way out where nothing of one can be used."""
_PRINTED = frozenset(
    ("confidence", "origin", "kinds", "values", "evidence", "document", "start", "end", "line", "sentence")
)
"""What weft itself writes beside a fact: it says nothing to a seed but for the kinds, and what was exported is one."""
_KINDS = ("head_kind", "tail_kind")
"""What an export calls its entities: their types, where the schema allows them."""
_UNREADABLE, _REMARKS = "seed lines that cannot be read", "seed lines that are remarks"
_UNKNOWN = "seed columns and keys that are unknown"


class SeedTriple(NamedTuple):
    """Entity numbers and a relation id."""

    head: int
    relation: int
    tail: int


@dataclass
class Entity:
    """One entity of the seed.

    Args:
        name: Its name.
        type: Its type; ``""`` where it is not known.
        aliases: Other names.
    """

    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, its own first."""
        return (self.name, *self.aliases)


@dataclass
class Seeds:
    """A seed graph.

    Args:
        entities: By number.
        triples: Without repetitions, in order.
    """

    entities: list[Entity] = field(default_factory=list)
    triples: list[SeedTriple] = field(default_factory=list)


class _Row(NamedTuple):
    """A triple in words, and where it stands."""

    where: str
    values: Mapping[str, str]
    head_aliases: tuple[str, ...] = ()
    tail_aliases: tuple[str, ...] = ()


def read_seeds(paths: Sequence[Path], schema: Schema, funnel: Funnel) -> Seeds:
    """Read seed files; entities are told apart by their names.

    - ``.csv``, ``.tsv``: with a header of :data:`COLUMNS` (the first three are needed for a fact, the first for an
      entity), or three columns without one; cells may be separated by semicolons, and
      aliases are by ``|``. A row with a head alone, or a line of JSON with one, adds
      an entity without a fact. A line that begins with ``#`` is a remark, but for a whole row whose head does
      (``#MeToo``, without a space behind the mark); remarks are counted.
    - ``.jsonl``: an object in each line, with the same keys; aliases are a list.
    - ``.nt``: N-Triples; names, aliases and types from ``rdfs:label``, ``skos:prefLabel``,
      ``skos:altLabel`` and ``rdf:type``, else an IRI's last part.

    What weft exported, as JSONL or N-Triples, says its entities' kinds: they are types where the schema allows them.

    Args:
        paths: The files.
        schema: Relations by any of their names; one that goes both ways is stated both ways.
        funnel: Counts and lists lines that cannot be used.

    Raises:
        InputError: A file cannot be read, or is of another kind.
    """
    numbers: dict[str, int] = {}
    seeds, ids, found = Seeds(), schema.ids(), dict[SeedTriple, None]()
    for row in (row for path in paths for row in _rows(path, ids, funnel)):
        values = row.values
        if not values.get("relation"):
            funnel.counts["entities without a seed triple"] += 1
            kind = values.get("head_type") or ""
            _entity(values["head"], kind, row.head_aliases, seeds.entities, numbers)
            continue
        funnel.counts["seed triples"] += 1
        relation = ids.get(values["relation"])
        said = f"{row.where}: {values['head']} {values['relation']} {values['tail']}"
        if relation is None:
            funnel.leave_out("seed triples whose relation is not in the schema", said)
            continue
        rule = schema.relations[relation - 1]
        types = values.get("head_type") or "", values.get("tail_type") or ""
        if not rule.allows(types[0] or None, types[1] or None):
            funnel.leave_out("seed triples whose types do not fit the schema", f"{said} ({' '.join(types)})")
            continue
        kinds = types[0] or values.get(_KINDS[0], ""), types[1] or values.get(_KINDS[1], "")
        types = kinds if rule.allows(kinds[0] or None, kinds[1] or None) else types
        head = _entity(values["head"], types[0], row.head_aliases, seeds.entities, numbers)
        tail = _entity(values["tail"], types[1], row.tail_aliases, seeds.entities, numbers)
        before = len(found)
        found[SeedTriple(head, relation, tail)] = None
        funnel.counts["seed triples that repeat another"] += len(found) == before
        if rule.both_ways:
            found[SeedTriple(tail, relation, head)] = None
    seeds.triples = list(found)
    funnel.counts["seed triples, both ways"] = len(seeds.triples)
    return seeds


def first_unused(funnel: Funnel) -> str:
    """The first thing that a funnel lists, behind a colon; empty where there is none: for an error that says why."""
    return next((f": {items[0]} ({reason})" for reason, items in funnel.listed.items()), "")


def _entity(
    name: str, kind: str, aliases: tuple[str, ...], entities: list[Entity], numbers: dict[str, int]
) -> int:
    number = numbers.setdefault(name, len(entities))
    if number == len(entities):
        entities.append(Entity(name))
    entity = entities[number]
    entity.type = entity.type or kind
    entity.aliases = tuple(dict.fromkeys((*entity.aliases, *(other for other in aliases if other != name))))
    return number


def _rows(path: Path, ids: Mapping[str, int], funnel: Funnel) -> Iterator[_Row]:
    text = read_text(path)
    kind = path.suffix.lower()
    if kind in (".csv", ".tsv"):
        yield from _csv_rows(text, path.name, _delimiter(text, kind), funnel)
    elif kind == ".jsonl":
        yield from _json_rows(text, path.name, funnel)
    elif kind == ".nt":
        yield from _graph_rows(text, path.name, ids, funnel)
    else:
        raise InputError(
            f"a seed of kind {kind!r}", where=str(path), hint="one of .csv, .tsv, .jsonl and .nt"
        )


def _delimiter(text: str, kind: str) -> str:
    """What separates the cells: a file's first row that has none of its kind's delimiters tells by what it has."""
    usual = "\t" if kind == ".tsv" else ","
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return next((mark for mark in (usual, "\t", ";", ",") if mark in first), usual)


def _csv_rows(text: str, name: str, delimiter: str, funnel: Funnel) -> Iterator[_Row]:
    header: Sequence[str] | None = None
    # A line is a row: a quote that is never closed costs one triple, not the rest of the file.
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        where = f"{name}:{number}"
        if not line.strip():
            continue
        if line.startswith("#") and not _has_mark_in_head(line, delimiter, header or COLUMNS[:3]):
            funnel.counts[_REMARKS] += 1
            continue
        try:
            cells = [cell.strip() for cell in next(csv_reader([line], delimiter))]
        except csv.Error as error:
            funnel.fail(_UNREADABLE, f"{where}: {error}")
            continue
        if header is None:
            header = _header(cells)
            if header is not None:
                _check_header(header, where, funnel)
                continue
            header = COLUMNS[:3]
        values = dict(zip(header, cells, strict=False))
        if len(cells) > len(header) or not _is_row(values):
            funnel.fail(_UNREADABLE, f"{where}: {delimiter.join(cells)!r} is no head, relation and tail")
            continue
        yield _Row(
            where, values, _names(values.get("head_aliases", "")), _names(values.get("tail_aliases", ""))
        )


def _header(cells: Sequence[str]) -> Sequence[str] | None:
    """The columns that a first row names, in letters of either case; None where it is a row of values."""
    lower = [cell.lower() for cell in cells]
    of_facts = set(COLUMNS[:3]) <= set(lower)
    if of_facts or ("head" in lower and set(lower) <= set(COLUMNS).difference(COLUMNS[1:3])):
        return [small if small in COLUMNS else cell for small, cell in zip(lower, cells, strict=True)]
    return None


def _check_header(cells: Sequence[str], where: str, funnel: Funnel) -> None:
    """List columns that no seed has: a name that is spelt wrongly would lose its column."""
    for column in filter(None, dict.fromkeys(cells)):
        if _unknown(column):
            funnel.leave_out(_UNKNOWN, f"{where}: the column {column!r} is unknown ({_known(column)})")
        elif cells.count(column) > 1:
            funnel.fail(_UNREADABLE, f"{where}: the column {column!r} stands twice")


def _has_mark_in_head(line: str, delimiter: str, header: Sequence[str]) -> bool:
    """Whether a line that begins with the mark of a remark is a whole row of values, as of ``#MeToo``."""
    try:
        cells = [cell.strip() for cell in next(csv_reader([line], delimiter))]
    except csv.Error:
        return False
    values = dict(zip(header, cells, strict=False))
    whole = len(cells) <= len(header) and all(values.get(name) for name in COLUMNS[:3])
    return whole and not line[1].isspace()


def _json_rows(text: str, name: str, funnel: Funnel) -> Iterator[_Row]:
    told = set[str]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            record = parse_json(line, where)
            row = _json_row(record, line.strip()[:80], where)
        except InputError as error:
            funnel.fail(_UNREADABLE, str(error))
            continue
        for key in filter(_unknown, record.keys() - told):
            told.add(key)
            funnel.leave_out(_UNKNOWN, f"{where}: the key {key!r} is unknown ({_known(key)})")
        yield row


def _json_row(record: Any, said: str, where: str) -> _Row:
    """The row of a line of JSON.

    Raises:
        InputError: It is none, has another key and no whole fact, or a value that is no name.
    """
    plain: dict[str, Any] = record if isinstance(record, dict) else {}
    values = {key: plain[key] for key in COLUMNS[:5] if plain.get(key) is not None}
    aliases = [plain.get(key, []) for key in COLUMNS[5:]]
    whole = all(values.get(name) for name in COLUMNS[:3])
    for key in filter(_unknown, () if whole else plain):
        raise InputError(f"{said} has the unknown key {key!r}", where=where, hint=_known(key))
    for key, value in values.items():
        if not isinstance(value, str):
            raise InputError(f"{said} has no string for {key!r}", where=where)
    if not all(map(_is_names, aliases)):
        raise InputError(f"{said} has aliases that are no list of names", where=where)
    try:
        "".join((*values.values(), *aliases[0], *aliases[1])).encode()
    except UnicodeEncodeError:
        raise InputError(f"{said} has a name with half a character", where=where) from None
    values = {key: value.strip() for key, value in values.items()}
    kinds = plain.get("kinds")
    if isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds):
        values |= dict(zip(_KINDS, kinds, strict=False))
    if not _is_row(values):
        raise InputError(f"{said} is no head, relation and tail", where=where)
    return _Row(where, values, tuple(aliases[0]), tuple(aliases[1]))


def _unknown(name: str) -> bool:
    return name not in COLUMNS and name not in _PRINTED


def _known(name: str) -> str:
    """What a column or a key was to be called."""
    near = difflib.get_close_matches(name, COLUMNS, 1)
    return f"did you mean {near[0]}?" if near else f"one of {', '.join(COLUMNS)}"


def _graph_rows(text: str, name: str, ids: Mapping[str, int], funnel: Funnel) -> Iterator[_Row]:
    statements, labels, broken = read_ntriples(text)
    for line, reason in broken:
        funnel.fail(_UNREADABLE, f"{name}:{line}: {reason}")
    for line, (subject, predicate, object_) in statements:
        names = (predicate, last_part(predicate), *labels.names(predicate))
        relation = next((name for name in names if name in ids), None)
        values = {
            "head": labels.name(subject),
            "relation": relation or labels.name(predicate),
            "tail": labels.name(object_),
            "head_type": labels.type(subject),
            "tail_type": labels.type(object_),
            _KINDS[0]: labels.kinds.get(subject, ""),
            _KINDS[1]: labels.kinds.get(object_, ""),
        }
        yield _Row(f"{name}:{line}", values, _others(labels, subject), _others(labels, object_))


def _others(labels: Labels, term: str) -> tuple[str, ...]:
    return tuple(labels.names(term)[1:])


def _is_row(values: Mapping[str, str]) -> bool:
    """Whether there is a head, and a relation and a tail both or neither."""
    return bool(values.get("head")) and bool(values.get("relation")) == bool(values.get("tail"))


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _names(cell: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in cell.split("|") if item.strip())


def save_entities(entities: Iterable[Entity], path: Path) -> None:
    """Write a dictionary as JSON, for linking documents later."""
    records = [{"name": item.name, "type": item.type, "aliases": list(item.aliases)} for item in entities]
    write_json(path, records, ensure_ascii=False)
