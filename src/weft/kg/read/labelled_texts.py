"""Texts with the facts that a reader finds in them, by names: a file that people write."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
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
        InputError: The file is no such list, two texts have one id, or a fact has another relation.
    """
    records = read_yaml(path)
    if not isinstance(records, list) or not records:
        raise InputError("a list of texts is needed", where=str(path))
    texts = [_text(record, f"{path}, text {number}", relations) for number, record in enumerate(records, 1)]
    first: dict[str, int] = {}
    for number, text in enumerate(texts, 1):
        if first.setdefault(text.id, number) != number:
            raise InputError(
                f"the id {text.id!r} is that of text {first[text.id]}", where=f"{path}, text {number}"
            )
    return texts


def _text(record: Any, where: str, relations: frozenset[str]) -> LabelledText:
    if not isinstance(record, dict) or not {"id", "text"} <= record.keys() <= {
        "id",
        "kind",
        "text",
        "facts",
        "also",
    }:
        raise InputError("a text has id, text, and may have kind, facts, also", where=where)
    name, text = record["id"], record["text"]
    if name is None or not str(name).strip():
        raise InputError("the id is empty", where=where)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"the text is empty, or no text: {text!r}", where=where)
    # What stands twice is asked for once.
    facts, also = (
        tuple(dict.fromkeys(_fact(line, where, relations) for line in record.get(name) or ()))
        for name in ("facts", "also")
    )
    return LabelledText(str(name), str(record.get("kind") or ""), text, facts, also)


def _fact(line: Any, where: str, relations: frozenset[str]) -> LabelledFact:
    parts = [part.strip() for part in str(line).split("|")]
    if len(parts) != 3 or not all(parts):
        raise InputError(f"{line!r} is not `head | relation | tail`", where=where)
    if parts[1] not in relations:
        near = get_close_matches(parts[1], relations, n=1)
        hint = f"did you mean {near[0]}?" if near else None
        raise InputError(f"no relation {parts[1]!r} in the schema", where=where, hint=hint)
    head, tail = (frozenset(map(fold, part.split("="))) for part in (parts[0], parts[2]))
    return LabelledFact(head, parts[1], tail)
