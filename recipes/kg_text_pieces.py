"""Documents as a model itself finds their entities: one that saw given entities alone is too sure of those.

And several documents as one long text: one that saw single documents alone connects what has nothing in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.mentions.document import with_mentions
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.documents import GivenFact, Mention, TextDocument
from weft.kg.read.together import together

DROPPED, RETYPED, APART = 0.04, 0.06, 0.03
"""How often a found mention is lost, its type another, or its entity one of its own: in documents that the finder
was not trained on it is so more often."""
LONG = 1_800
"""Characters of several documents together: some 430 tokens, one passage."""
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


def long_texts(documents: Sequence[TextDocument], count: int, random: Random) -> Iterator[TextDocument]:
    """Texts of several documents each, drawn anew until all have stood in one: names of two have no fact in common.

    Args:
        documents: With mentions and facts, none longer than a passage holds.
        count: Texts.
        random: Draws.
    """
    waiting: list[TextDocument] = []
    for number in range(count):
        taken: list[TextDocument] = []
        while sum(len(item.text) for item in taken) < LONG:
            if not waiting:
                waiting = random.sample(documents, len(documents))
            if taken and sum(len(item.text) for item in (*taken, waiting[-1])) > LONG:
                break
            taken.append(waiting.pop())
        yield together(taken, f"long-{number}")[0]


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
