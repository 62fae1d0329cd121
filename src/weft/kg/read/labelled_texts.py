"""Texts with the facts that a reader finds in them, by names: a file that people write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import InputError
from weft.platform.reading import read_yaml

Names = frozenset[str]


@dataclass(frozen=True)
class LabelledFact:
    """A fact by the names that its ends may have.

    Args:
        head: Folded names.
        relation: Its name.
        tail: Folded names.
    """

    head: Names
    relation: str
    tail: Names

    def is_stated(self, head: str, relation: str, tail: str) -> bool:
        """Whether a fact, by folded names, is this one."""
        return relation == self.relation and head in self.head and tail in self.tail


@dataclass(frozen=True)
class LabelledText:
    """One text.

    Args:
        id: What names it.
        kind: What kind of text it is.
        text: Its characters.
        facts: What is to be found.
        also: What is right as well, but not asked for.
    """

    id: str
    kind: str
    text: str
    facts: tuple[LabelledFact, ...]
    also: tuple[LabelledFact, ...]


def fold(name: str) -> str:
    """A name without case and spaces at will."""
    return " ".join(name.casefold().split())


def read_labelled_texts(path: Path, relations: frozenset[str]) -> list[LabelledText]:
    """Read a YAML list of ``{id, kind, text, facts, also}``, each fact ``head | relation | tail``.

    Args:
        path: The file. Names of one entity are joined by ``=``.
        relations: Names that there are.

    Raises:
        InputError: The file is no such list, or a fact has another relation.
    """
    records = read_yaml(path)
    if not isinstance(records, list) or not records:
        raise InputError("a list of texts is needed", where=str(path))
    return [_text(record, f"{path}, text {number}", relations) for number, record in enumerate(records, 1)]


def _text(record: Any, where: str, relations: frozenset[str]) -> LabelledText:
    if not isinstance(record, dict) or not {"id", "text"} <= record.keys() <= {
        "id",
        "kind",
        "text",
        "facts",
        "also",
    }:
        raise InputError("a text has id, text, and may have kind, facts, also", where=where)
    facts, also = (
        tuple(_fact(line, where, relations) for line in record.get(name) or ()) for name in ("facts", "also")
    )
    return LabelledText(str(record["id"]), str(record.get("kind", "")), str(record["text"]), facts, also)


def _fact(line: Any, where: str, relations: frozenset[str]) -> LabelledFact:
    parts = [part.strip() for part in str(line).split("|")]
    if len(parts) != 3 or not all(parts):
        raise InputError(f"{line!r} is not `head | relation | tail`", where=where)
    if parts[1] not in relations:
        raise InputError(f"no relation {parts[1]!r} in the schema", where=where)
    head, tail = (frozenset(map(fold, part.split("="))) for part in (parts[0], parts[2]))
    return LabelledFact(head, parts[1], tail)
