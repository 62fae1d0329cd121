"""Where a fact is told: in one sentence with both names, where there is one."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from weft.kg.extraction.entity_fact import EntityFact, Span
from weft.kg.read.documents import TextDocument
from weft.kg.read.sentences import sentence_starts


def in_one_sentence(facts: Iterable[EntityFact], document: TextDocument) -> list[EntityFact]:
    """The facts, those whose names stand in two sentences at the nearest places within one sentence of the passage.

    Two names may stand nearest to each other over a full stop ("… on 17 May 1965. Amadou's wife …") although the
    sentence before names both and says it.

    Args:
        facts: Of a document, where their names stand nearest to each other.
        document: With its mentions.
    """
    starts = document.sentences or sentence_starts(document.text)
    named: dict[str, dict[int, list[Span]]] = defaultdict(lambda: defaultdict(list))
    for mention in document.mentions:
        named[mention.name][bisect_right(starts, mention.start)].append((mention.start, mention.end))

    def told(fact: EntityFact) -> EntityFact:
        if bisect_right(starts, fact.place[0]) == bisect_right(starts, fact.tail_place[0]):
            return fact
        head, tail = named[fact.head], named[fact.tail]
        pairs = [
            (one, other)
            for number in sorted(head.keys() & tail.keys())
            for one in head[number]
            for other in tail[number]
            if fact.span[0] <= min(one[0], other[0]) and max(one[1], other[1]) <= fact.span[1]
        ]
        if not pairs:
            return fact
        place, tail_place = min(pairs, key=lambda pair: abs(pair[0][0] - pair[1][0]))
        return replace(fact, place=place, tail_place=tail_place)

    return [told(fact) for fact in facts]
