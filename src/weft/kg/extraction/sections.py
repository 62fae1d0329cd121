"""Facts of a text with headings: read as a whole and section by section."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from weft.kg.evaluate.confidence import Confidence
from weft.kg.extraction.entity_fact import EntityFact
from weft.kg.read.apart import Breaks
from weft.kg.read.documents import TextDocument

SECTION = 0.6
"""What the reading of a section by itself counts, beside that of the whole text."""


def in_sections(
    document: TextDocument,
    starts: Sequence[int],
    whole: Iterable[EntityFact],
    parts: Iterable[tuple[int, Iterable[EntityFact]]],
    sure: Confidence | None,
    trained: Collection[str],
) -> list[EntityFact]:
    """The facts of two readings, each once.

        c = 0.6 c_section + 0.4 c_whole        both names stand in one section; 0 from a reading that does not state it
        c = c_apart(c_whole)                   else: see :meth:`Confidence.of_names_apart`

    Sections may be of one subject or of several, and nobody says which: read together, each lends the others its
    country; read apart, what one says of the subject of another is lost.

    Args:
        document: With its mentions.
        starts: Where its sections begin.
        whole: What is read out of all of it.
        parts: What is read out of each section, and where that begins.
        sure: How sure names are that stand apart; None where that is in the confidences of ``whole`` already.
        trained: Names of relations whose confidence falls with the distance.
    """
    lies: dict[str, set[int]] = defaultdict(set)
    for mention in document.mentions:
        lies[mention.name].add(bisect_right(starts, mention.start))
    found: dict[tuple[str, str, str], EntityFact] = {}
    for start, facts in parts:
        for fact in facts:
            key = fact.head, fact.relation, fact.tail
            value = SECTION * fact.confidence
            if key not in found or value > found[key].confidence:
                found[key] = fact.moved(start, value)
    breaks = Breaks.of(document.text)
    for fact in whole:
        key = fact.head, fact.relation, fact.tail
        if lies[fact.head] & lies[fact.tail]:
            other = found.get(key)
            value = (1 - SECTION) * fact.confidence + (0.0 if other is None else other.confidence)
            found[key] = replace(other or fact, confidence=value)
            continue
        value = fact.confidence
        if sure is not None and fact.relation in trained:
            between = breaks.between(fact.place[0], fact.tail_place[0])
            value = sure.of_names_apart(value, *between, divided=True)
        found[key] = replace(fact, confidence=value)
    return list(found.values())
