"""Facts that stand in no sentence but ones that say nothing lose most of their confidence."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from weft.kg.extraction.entity_fact import EntityFact, Span
from weft.kg.read.clause import OF_ONE, told_of
from weft.kg.read.corrected import corrections
from weft.kg.read.documents import TextDocument
from weft.kg.read.family import LONGEST, Family
from weft.kg.read.kin import may_be
from weft.kg.read.kin_order import KINSHIP, is_turned
from weft.kg.read.sentences import sentence_starts
from weft.kg.read.unsaid import SPEAKER, says_nothing

UNSAID = 0.2
"""What is left of a confidence: of the sentences that the rules were made by, none states what it seems to."""
STATED = 0.5
"""Least confidence of what a correction says to be so."""
ONE_OF_TWO = 0.5
"""What is left where the words leave open whose spouse somebody is of two."""
RULES = 5
"""Counts up where the rules say otherwise than before: stores are read anew."""


def less_unsaid(facts: Iterable[EntityFact], document: TextDocument) -> list[EntityFact]:
    """The facts, less sure where every sentence with both names says nothing of them.

        c' = 0.2 c        of each sentence that names head and tail :func:`weft.kg.read.unsaid.says_nothing` holds, or
                          :func:`weft.kg.read.kin.may_be` does not; or
                          :func:`weft.kg.read.kin_order.is_turned` does where the later of both is first named; or
                          what the text states of others excludes it (:meth:`weft.kg.read.family.Family.excludes`); or
                          a sentence near the head says that another is its tail, "not in Oldenburg", or turned round
                          (:func:`weft.kg.read.corrected.corrections`); or in each sentence that names both the tail
                          stands in a clause of another name (:func:`weft.kg.read.clause.told_of`)

        c' = 0.5 c        the words leave open of two persons whose spouse it is

    What another speaker says is another sentence, though no full stop may stand before. What is longer than any
    sentence is taken at its word: a question mark at the end of a list of a thousand lines asks nothing of the first.

    Args:
        facts: Of a document.
        document: With its mentions.
    """
    text = document.text
    spoken = [found.start() for found in SPEAKER.finditer(text)]
    starts = sorted({*(document.sentences or sentence_starts(text)), *spoken} - {0})
    edges = [0, *starts, len(text)]
    named: dict[str, dict[int, list[Span]]] = defaultdict(lambda: defaultdict(list))
    every: dict[str, list[Span]] = defaultdict(list)
    for mention in sorted(document.mentions):
        every[mention.name].append((mention.start, mention.end))
        sentence = bisect_right(starts, mention.start)
        named[mention.name][sentence].append((mention.start, mention.end))

    family = Family.of(document)
    told = told_of(text, sorted(document.mentions))

    def silent(relation: str, number: int, one: Span, other: Span) -> bool:
        start, end = edges[number], edges[number + 1]
        said = text[start:end], _within(one, start), _within(other, start)
        return says_nothing(*said) or not may_be(relation, *said)

    def turned(fact: EntityFact) -> bool:
        head, tail = every[fact.head], every[fact.tail]
        if fact.relation not in KINSHIP or not head or not tail:
            return False
        introduced = max(head[0], tail[0])
        tail_later = introduced == tail[0]
        before = [place for place in (head if tail_later else tail) if place < introduced]
        if not before:
            return False
        ends = (before[-1], introduced) if tail_later else (introduced, before[-1])
        return is_turned(fact.relation, text, *ends)

    def unsaid(fact: EntityFact) -> bool:
        if turned(fact) or family.excludes(fact.relation, fact.head, fact.tail):
            return True
        head, tail = named[fact.head], named[fact.tail]
        both = sorted(head.keys() & tail.keys())
        if any(edges[number + 1] - edges[number] > LONGEST for number in both):
            return False
        places = [(number, one, other) for number in both for one in head[number] for other in tail[number]]
        return bool(places) and all(
            (fact.relation in OF_ONE and told.get(other, fact.head) != fact.head)
            or silent(fact.relation, number, one, other)
            for number, one, other in places
        )

    facts = list(facts)
    sure = {(fact.head, fact.relation, fact.tail) for fact in facts if fact.confidence >= STATED}
    corrected = [
        (item, named_there)
        for item in corrections(text, document.mentions)
        for number in [bisect_right(starts, item.place)]
        for named_there in [{name for name, at in named.items() if number in at or number - 1 in at}]
    ]

    def set_right(fact: EntityFact) -> bool:
        head, relation, tail = fact.head, fact.relation, fact.tail
        return any(
            (tail == item.wrong and head in there and (head, relation, item.right) in sure)
            or (head == item.wrong and tail in there and (item.right, relation, tail) in sure)
            for item, there in corrected
        )

    def kept(fact: EntityFact) -> float:
        if unsaid(fact) or set_right(fact):
            return UNSAID
        return ONE_OF_TWO if family.is_one_of_two(fact.relation, fact.head, fact.tail) else 1.0

    return [replace(fact, confidence=kept(fact) * fact.confidence) for fact in facts]


def _within(span: Span, start: int) -> Span:
    return span[0] - start, span[1] - start
