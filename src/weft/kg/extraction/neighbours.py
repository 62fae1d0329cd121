"""Facts across paragraphs whose two names each have a partner of their own: those of neighbours, mostly."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.mentions.join import PERSON
from weft.kg.read.documents import TextDocument
from weft.kg.read.sentences import EMPTY_LINE

NEIGHBOURS = 0.3
"""What is left of a confidence: 0.95 falls below what an answer needs (docs/log.md, "Each his own employer")."""
OWN = 0.5
"""Least confidence of a partner that a name has in its own paragraph."""
RULES = 1
"""Counts up where the rule says otherwise than before: stores are read anew."""
SHARED = frozenset(
    (
        "contains_territory",
        "country",
        "country_of_citizenship",
        "ethnic_group",
        "languages_spoken",
        "located_in",
        "religion",
    )
)
"""Relations in which neighbours often have the same partner."""
_PARAGRAPH = re.compile(rf"{EMPTY_LINE}\s*")
_LINE = re.compile(r"(?<=[.!?])[ \t]*[\r\n]+\s*")
"""Where a text without empty lines has paragraphs: a line begins after a full stop."""


def less_of_neighbours(facts: Iterable[EntityFact], document: TextDocument) -> list[EntityFact]:
    """The facts, less sure where both names belong to other partners.

        c' = 0.3 c        head and tail never share a paragraph, and in a paragraph of its own each has another
                          partner of the same relation and type, at least 0.5 sure; head or tail is a person

    In a directory of staff each paragraph has a person and a firm, and a model that reads them at once gives each
    person all firms. What a text says of one person in two paragraphs has no such rival on both sides.

    Args:
        facts: Of a document.
        document: With its mentions.
    """
    facts = list(facts)
    breaks = (
        _PARAGRAPH.finditer(document.text)
        if _PARAGRAPH.search(document.text)
        else _LINE.finditer(document.text)
    )
    starts = [found.end() for found in breaks]
    if not starts:
        return facts
    lies: dict[str, set[int]] = defaultdict(set)
    for mention in document.mentions:
        lies[mention.name].add(bisect_right(starts, mention.start))
    heads: set[tuple[str, str, str]] = set()
    tails: set[tuple[str, str, str]] = set()
    for fact in facts:
        if fact.confidence >= OWN and lies[fact.head] & lies[fact.tail]:
            heads.add((fact.head, fact.relation, fact.tail_type))
            tails.add((fact.tail, fact.relation, fact.head_type))

    def neighbours(fact: EntityFact) -> bool:
        return (
            PERSON in (fact.head_type, fact.tail_type)
            and fact.relation not in SHARED
            and not lies[fact.head] & lies[fact.tail]
            and (fact.head, fact.relation, fact.tail_type) in heads
            and (fact.tail, fact.relation, fact.head_type) in tails
        )

    return [
        replace(fact, confidence=NEIGHBOURS * fact.confidence) if neighbours(fact) else fact for fact in facts
    ]
