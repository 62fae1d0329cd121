"""Several documents as one long text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.kg.read.documents import GivenFact, Mention, TextDocument

_BETWEEN = "\n\n"


def together(documents: Sequence[TextDocument], name: str) -> tuple[TextDocument, tuple[int, ...]]:
    """The documents below each other, an empty line between them, and where each begins.

    Entities of one name, case aside, and of one type are one entity; all others stay apart, and so do facts. Where two
    of one document are one then, such as father and son, what it says of these two is left out.

    Args:
        documents: With their mentions and facts.
        name: The text's id.
    """
    text, starts = "", list[int]()
    numbers: dict[tuple[str, str], int] = {}
    mentions: list[Mention] = []
    facts: set[GivenFact] = set()
    for document in documents:
        text += _BETWEEN if text else ""
        starts.append(len(text))
        new: dict[int, int] = {}
        for item in document.mentions:
            key = item.name.casefold(), item.type
            new.setdefault(item.entity, numbers.setdefault(key, len(numbers)))
            mentions.append(
                item._replace(start=item.start + len(text), end=item.end + len(text), entity=new[item.entity])
            )
        moved = {GivenFact(new[fact.head], fact.relation, new[fact.tail]) for fact in document.facts}
        facts |= {fact for fact in moved if fact.head != fact.tail}
        text += document.text
    found = TextDocument(name, text, tuple(sorted(mentions)), tuple(sorted(facts)))
    return found, tuple(starts)


def under_heading(document: TextDocument) -> TextDocument:
    """A document with its id as a heading above it."""
    above = f"{document.id}{_BETWEEN}"
    mentions = tuple(
        item._replace(start=item.start + len(above), end=item.end + len(above)) for item in document.mentions
    )
    return replace(document, text=above + document.text, mentions=mentions, sentences=None)


def in_groups(
    documents: Sequence[TextDocument], size: int, *, headings: bool = False
) -> tuple[list[TextDocument], list[tuple[int, ...]]]:
    """So many documents after each other as one text, and where each of them begins; as they are where it is one.

    Args:
        documents: With their mentions and facts.
        size: How many.
        headings: Whether each has its id as a heading (:func:`under_heading`).
    """
    if headings:
        documents = [under_heading(document) for document in documents]
    if size == 1:
        return list(documents), [(0,)] * len(documents)
    groups = [documents[first : first + size] for first in range(0, len(documents), size)]
    texts = [together(group, group[0].id) for group in groups]
    return [text for text, _ in texts], [starts for _, starts in texts]
