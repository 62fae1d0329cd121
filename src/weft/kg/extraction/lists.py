"""Facts of a text with lists: each item is read by itself, too, so that items do not lend each other their facts."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.extraction.sections import SECTION
from weft.kg.read.documents import TextDocument
from weft.kg.read.items import Item
from weft.kg.read.sections import cut

LENT = 0.2
"""What is left of a fact between two items of a list, of which one states the like of a name of its own."""
STATED = 0.3
"""From this confidence on an item by itself states a fact."""


def item_documents(document: TextDocument, items: Sequence[Item]) -> list[tuple[int, TextDocument]]:
    """The items with two names at least, as documents, and where each begins."""
    if not items:
        return []
    starts = {item.start for item in items}
    edges = sorted({0, *starts, *(item.end for item in items)} - {len(document.text)})
    return [
        (start, part)
        for start, part in cut(document, edges)
        if start in starts and len({item.entity for item in part.mentions}) > 1
    ]


def in_lists(
    document: TextDocument,
    items: Sequence[Item],
    whole: Iterable[EntityFact],
    parts: Iterable[tuple[int, Iterable[EntityFact]]],
    inverses: Mapping[str, str],
) -> list[EntityFact]:
    """The facts of a text as a whole and of its items by themselves, each once.

        c = 0.6 c_item + 0.4 c_whole     both names stand in one item; 0 from a reading that does not state it
        c = 0.2 c_whole                  they stand in different items of one list alone, and the tail's item states the
                                         relation of another head (or, turned round, the head's of another tail)
        c = c_whole                      else

    A model that reads "Mira Costa works for Galp / Ben Amsel works for Siemens" without full stops says of each that
    she works for both.

    Args:
        document: With its mentions.
        items: Of its lists.
        whole: What is read out of all of it.
        parts: What is read out of each item, and where that begins.
        inverses: Relations and what they are turned round.
    """
    starts = [item.start for item in items]
    lies: dict[str, set[int]] = defaultdict(set)
    for mention in document.mentions:
        place = bisect_right(starts, mention.start) - 1
        lies[mention.name].add(place if place >= 0 and mention.end <= items[place].end else -1)
    found: dict[tuple[str, str, str], EntityFact] = {}
    heads: dict[tuple[int, str, str], set[str]] = defaultdict(set)
    for start, facts in parts:
        number = bisect_right(starts, start) - 1
        for fact in facts:
            key = fact.head, fact.relation, fact.tail
            if fact.confidence >= STATED:
                heads[number, fact.relation, fact.tail].add(fact.head)
            moved = fact.moved(start, SECTION * fact.confidence)
            if key not in found or moved.confidence > found[key].confidence:
                found[key] = moved

    def lent(head: str, relation: str, tail: str) -> bool:
        """Whether an item with the tail states the relation of another head, who stands in no item with the head."""
        return any(
            heads.get((number, relation, tail), set()) - {head}
            for number in lies[tail]
            if number not in lies[head]
        )

    for fact in whole:
        key = fact.head, fact.relation, fact.tail
        one, other = lies[fact.head], lies[fact.tail]
        if one & other - {-1}:
            read = found.get(key)
            value = (1 - SECTION) * fact.confidence + (0.0 if read is None else read.confidence)
            found[key] = replace(read or fact, confidence=value)
            continue
        apart = -1 not in one | other and {items[n].list for n in one} & {items[n].list for n in other}
        inverse = inverses.get(fact.relation)
        taken = apart and (lent(*key) or (inverse is not None and lent(fact.tail, inverse, fact.head)))
        found[key] = replace(fact, confidence=LENT * fact.confidence) if taken else fact
    return list(found.values())
