"""Documents of text, with what is given about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from weft.kg.read.funnel import Funnel
from weft.kg.read.origins import Origin


class Mention(NamedTuple):
    """A place where a document names an entity.

    Args:
        start: Offset of its first character.
        end: Offset after its last.
        entity: The entity's number: in its document where mentions are given, else in the dictionary.
        name: The entity's name.
        type: Its type; ``""`` where it is not known.
        probability: That it is a mention of that type; 1 where it is given.
    """

    start: int
    end: int
    entity: int
    name: str
    type: str = ""
    probability: float = 1.0


class GivenFact(NamedTuple):
    """A fact that somebody stated about a whole document: entity numbers and a relation's name."""

    head: int
    relation: str
    tail: int


@dataclass(frozen=True)
class TextDocument:
    """One document.

    Args:
        id: What names it: a path, a JSONL ``id``, a title. No two of a corpus are equal.
        text: Its characters, line ends as they are.
        mentions: Given mentions.
        facts: Given facts between the entities of the mentions.
        sentences: Offsets at which sentences start; None where they are to be found.
        origins: The lines of the file that parts of the text come from; none where its own lines are these.
    """

    id: str
    text: str
    mentions: tuple[Mention, ...] = ()
    facts: tuple[GivenFact, ...] = ()
    sentences: tuple[int, ...] | None = None
    origins: tuple[Origin, ...] = ()


def without_repeats(documents: Iterable[TextDocument], funnel: Funnel) -> list[TextDocument]:
    """Documents in order, the first of each id and only those with text; the others are counted and listed."""
    kept: dict[str, TextDocument] = {}
    for document in documents:
        funnel.counts["documents"] += 1
        if not document.text.strip():
            funnel.leave_out("empty documents", document.id)
        elif document.id in kept:
            funnel.leave_out("documents with an id that another has", document.id)
        else:
            kept[document.id] = document
    return list(kept.values())
