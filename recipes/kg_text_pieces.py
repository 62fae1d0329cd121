"""Documents as a model itself finds their entities: one that saw given entities alone is too sure of those."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.mentions.document import with_mentions
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.documents import GivenFact, Mention, TextDocument

DROPPED, RETYPED, APART = 0.04, 0.06, 0.03
"""How often a found mention is lost, its type another, or its entity one of its own: in documents that the finder
was not trained on it is so more often."""
_TYPES = ("LOC", "ORG", "MISC", "PER")


def as_found(
    model: EntityGraphModel, tokenizer: CodeTokenizer, document: TextDocument, random: Random
) -> TextDocument:
    """The document with the entities that the model finds, those it will miss left out, and what is known of them.

    A found entity stands for the given one with which it shares most characters.
    """
    bare = replace(document, mentions=(), facts=())
    return as_found_from(with_mentions(model, tokenizer, bare), document, random)


def as_found_from(reading: TextDocument, document: TextDocument, random: Random) -> TextDocument:
    """The same, what the model found being known."""
    found = _worse(reading.mentions, random)
    shared: dict[int, Counter[int]] = {}
    for mine in found:
        for theirs in document.mentions:
            common = min(mine.end, theirs.end) - max(mine.start, theirs.start)
            if common > 0:
                shared.setdefault(mine.entity, Counter())[theirs.entity] += common
    standing: dict[int, list[int]] = {}
    for entity, counts in shared.items():
        standing.setdefault(counts.most_common(1)[0][0], []).append(entity)
    facts = {
        GivenFact(head, fact.relation, tail)
        for fact in document.facts
        for head in standing.get(fact.head, ())
        for tail in standing.get(fact.tail, ())
    }
    return replace(document, mentions=tuple(found), facts=tuple(sorted(facts)))


def _worse(mentions: Sequence[Mention], random: Random) -> list[Mention]:
    kept: list[Mention] = []
    types = {
        item.entity: random.choice(_TYPES) if item.type in _TYPES and random.random() < RETYPED else item.type
        for item in mentions
    }
    last = max((item.entity for item in mentions), default=0)
    for item in mentions:
        if random.random() < DROPPED:
            continue
        item = item._replace(type=types[item.entity])
        if random.random() < APART:
            last += 1
            item = item._replace(entity=last)
        kept.append(item)
    return kept
