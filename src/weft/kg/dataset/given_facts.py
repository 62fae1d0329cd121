"""Given facts of a document as triples of its chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from weft.kg.dataset.chunks import Chunk, ChunkMention, ChunkTriple
from weft.kg.dataset.text_chunks import entity_words
from weft.kg.dataset.tokens import UNKNOWN
from weft.kg.read.documents import GivenFact, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import SeedTriple
from weft.kg.schema import Schema

FactRow = tuple[int, int, int, int]
"""Head, relation id, tail, and the number of chunks in which both stand."""


def add_given_facts(
    document: TextDocument, chunks: Sequence[Chunk], schema: Schema, longest_tail: int, funnel: Funnel
) -> list[FactRow]:
    """State each fact in every chunk that mentions both its entities.

    The tail is spelled as its first mention there that has at most K tokens, none of them unknown.

    Args:
        document: With its facts.
        chunks: Of the document; triples are added to them.
        schema: Relations by any of their names.
        longest_tail: K.
        funnel: Counts and lists facts that no chunk can state.

    Returns:
        The facts of the document whose relation is in the schema.
    """
    ids = schema.ids()
    rows: list[FactRow] = []
    by_chunk = [entity_words(chunk) for chunk in chunks]
    stated: list[list[ChunkTriple]] = [[] for _ in chunks]
    for fact in document.facts:
        relation = ids.get(fact.relation)
        if relation is None:
            funnel.leave_out("facts whose relation is not in the schema", f"{document.id}: {fact.relation}")
            continue
        together = [
            number for number, found in enumerate(by_chunk) if fact.head in found and fact.tail in found
        ]
        rows.append((fact.head, relation, fact.tail, len(together)))
        spelled = 0
        for number in together:
            heads, tails = by_chunk[number][fact.head], by_chunk[number][fact.tail]
            tail = first_spelled(chunks[number], tails, longest_tail)
            if tail is None:
                continue
            spelled += 1
            token_ids = chunks[number].ids[tail.first : tail.first + tail.length]
            stated[number].append(
                ChunkTriple(heads[0].word, relation, tuple(token_ids.tolist()), tail.word, heads[0].start)
            )
        _count(document, fact, len(together), spelled, funnel)
    for chunk, triples in zip(chunks, stated, strict=True):
        chunk.triples += triples
        funnel.counts["triples"] += len(triples)
    return rows


def first_spelled(chunk: Chunk, mentions: Sequence[ChunkMention], longest: int) -> ChunkMention | None:
    """The first of some mentions that has at most so many tokens, all of them in the vocabulary."""
    for mention in mentions:
        ids = chunk.ids[mention.first : mention.first + mention.length]
        if mention.length <= longest and UNKNOWN not in ids:
            return mention
    return None


def _count(document: TextDocument, fact: GivenFact, together: int, spelled: int, funnel: Funnel) -> None:
    funnel.counts["facts"] += 1
    if spelled:
        funnel.counts["facts stated in a chunk"] += 1
    elif together:
        tail = next(item.name for item in document.mentions if item.entity == fact.tail)
        funnel.leave_out(
            "facts whose tail is too long or cannot be spelled", f"{document.id}: {fact.relation} {tail!r}"
        )
    else:
        funnel.counts["facts whose entities share no chunk"] += 1


def seed_facts(chunks: Sequence[Chunk], by_head: Mapping[int, Sequence[SeedTriple]]) -> list[FactRow]:
    """Seed triples both of whose entities a document mentions, injected or not.

    Args:
        chunks: Of the document.
        by_head: The seed, by the entity that is the head.
    """
    by_chunk = [{mention.entity for mention in chunk.mentions} for chunk in chunks]
    everywhere = set[int]().union(*by_chunk)
    return [
        (head, relation, tail, sum(head in found and tail in found for found in by_chunk))
        for entity in sorted(everywhere)
        for head, relation, tail in by_head.get(entity, ())
        if tail in everywhere
    ]
