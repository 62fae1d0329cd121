"""The whole of the injection: seed triples in, chunks with triples out, and how many passed each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.kg.dataset.chunks import Chunk, ChunkTriple
from weft.kg.dataset.given_facts import first_spelled
from weft.kg.dataset.text_chunks import entity_words
from weft.kg.dataset.tokens import NO_WORD, UNKNOWN, CodeTokenizer
from weft.kg.inject.candidates import match_heads, triple_text
from weft.kg.inject.score import Embed, embedding_scorer, tfidf_scores
from weft.kg.inject.select import above, above_quantile, best_occurrences, buckets, first_per_head
from weft.kg.read.funnel import Funnel
from weft.kg.read.seeds import Seeds, SeedTriple
from weft.kg.schema import Schema
from weft.platform.ranges import require


@dataclass(frozen=True)
class InjectionConfig:
    """How seed triples are chosen.

    Args:
        alpha: α: the least score with an embedding; the quantile of scores without one.
        score_step: Width of a score bucket.
        relation_step: Triples of a relation that are one bucket.
        per_head: Triples of each head occurrence; 1 as published.
    """

    alpha: float = 0.55
    score_step: float = 0.01
    relation_step: int = 100
    per_head: int = 1

    def __post_init__(self) -> None:
        require(self, "alpha", 0.0 <= self.alpha <= 1.0, "in [0, 1]")
        require(self, "score_step", self.score_step > 0, "above 0")
        for name in ("relation_step", "per_head"):
            require(self, name, getattr(self, name) >= 1, "at least 1")


def inject(
    chunks: Sequence[Chunk],
    texts: Sequence[str],
    seeds: Seeds,
    schema: Schema,
    tokenizer: CodeTokenizer,
    longest_tail: int,
    config: InjectionConfig,
    funnel: Funnel,
    embed: Embed | None = None,
) -> None:
    """Give chunks their triples.

    Args:
        chunks: With mentions of the seeds' entities; triples are added to them.
        texts: The text of each chunk.
        seeds: Triples.
        schema: Their relations.
        tokenizer: Spells tails that no chunk mentions.
        longest_tail: K; triples with a longer tail are counted and listed, and not injected.
        config: How to choose.
        funnel: Counts the triples at each step.
        embed: Sentence embeddings; TF-IDF where None.
    """
    words = [triple_text(triple, seeds.entities, schema) for triple in seeds.triples]
    spelled = [tokenizer.tail(seeds.entities[triple.tail].name) for triple in seeds.triples]
    usable = _usable(chunks, seeds, words, spelled, longest_tail, funnel)
    candidates = match_heads(chunks, seeds.triples, usable)
    funnel.counts["injection 1: triples in a chunk with their head"] = len(candidates)
    pairs = np.stack([candidates.triple, candidates.chunk], axis=1)
    scores = (embedding_scorer(embed) if embed else tfidf_scores)(words, texts, pairs)
    kept = (above if embed else above_quantile)(scores, config.alpha)
    candidates, scores = candidates.take(kept), scores[kept]
    funnel.counts["injection 2: with a score above alpha"] = len(candidates)
    kept = best_occurrences(candidates, scores)
    candidates, scores = candidates.take(kept), scores[kept]
    funnel.counts["injection 3: each at its best occurrence"] = len(candidates)
    by_score, by_relation = buckets(candidates, scores, config.score_step, config.relation_step)
    chosen = candidates.take(first_per_head(candidates, scores, by_score, by_relation, config.per_head))
    funnel.counts["injection 4: the first of each head"] = funnel.counts["triples"] = len(chosen)
    for chunk, number in zip(chosen.chunk.tolist(), chosen.triple.tolist(), strict=True):
        chunks[chunk].triples.append(
            _placed(chunks[chunk], seeds.triples[number], spelled[number], longest_tail)
        )


def _usable(
    chunks: Sequence[Chunk],
    seeds: Seeds,
    words: Sequence[str],
    spelled: Sequence[tuple[int, ...]],
    longest_tail: int,
    funnel: Funnel,
) -> list[int]:
    """Triples whose head is mentioned anywhere and whose tail can be spelled."""
    mentioned = {mention.entity for chunk in chunks for mention in chunk.mentions}
    usable: list[int] = []
    for number, triple in enumerate(seeds.triples):
        tail = spelled[number]
        if triple.head not in mentioned:
            funnel.leave_out("seed triples whose head never occurs", words[number])
        elif not tail or UNKNOWN in tail:
            funnel.leave_out("seed triples whose tail cannot be spelled", words[number])
        elif len(tail) > longest_tail:
            funnel.leave_out("seed triples whose tail is too long", words[number])
        else:
            usable.append(number)
    return usable


def _placed(chunk: Chunk, triple: SeedTriple, spelled: tuple[int, ...], longest_tail: int) -> ChunkTriple:
    """The triple in a chunk; its tail as the chunk spells it where it does, so that it can be copied."""
    found = entity_words(chunk)
    head = found[triple.head][0]
    tails = found.get(triple.tail, ())
    tail = first_spelled(chunk, tails, longest_tail)
    if tail is None:
        return ChunkTriple(head.word, triple.relation, spelled, NO_WORD, head.start)
    ids = chunk.ids[tail.first : tail.first + tail.length]
    return ChunkTriple(head.word, triple.relation, tuple(ids.tolist()), tail.word, head.start)
