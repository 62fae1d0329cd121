"""A document that nobody prepared, with the mentions that a model finds in it and the entities that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.kg.mentions import join
from weft.kg.mentions.find import find_spans
from weft.kg.mentions.join import join_mentions
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.text_chunks import text_chunks
from weft.kg.read.tokens import CodeTokenizer, Tokens
from weft.kg.represent.passages import passage, sentence_edges, windows

CHUNK = 128
"""Tokens of a chunk; the model reads as many chunks at once as its positions allow."""


def with_mentions(model: EntityGraphModel, tokenizer: CodeTokenizer, document: TextDocument) -> TextDocument:
    """The document with found mentions beside those that it has; those keep their names and come first.

    A found mention over a given one is left out. Where mentions of both kinds are one entity
    (:func:`weft.kg.mentions.join.join_mentions`), it is the given one.

    Args:
        model: One that finds mentions.
        tokenizer: Its vocabulary.
        document: Given mentions have entity numbers of their own, which stay.
    """
    given = sorted(document.mentions)
    found = [
        item
        for item in mentions_in(model, tokenizer, document)
        if not any(item.start < other.end and other.start < item.end for other in given)
    ]
    both = [join.Mention(item.start, item.end, item.type) for item in given] + found
    first = max((item.entity for item in given), default=-1) + 1
    mentions: list[Mention] = list(given)
    for number, entity in enumerate(join_mentions(document.text, both)):
        known = [given[place] for place in entity.mentions if place < len(given)]
        label = (
            (known[0].entity, known[0].name, known[0].type)
            if known
            else (first + number, entity.name, entity.type)
        )
        mentions += [
            Mention(both[place].start, both[place].end, *label)
            for place in entity.mentions
            if place >= len(given)
        ]
    return replace(document, mentions=tuple(sorted(mentions)))


def mentions_in(
    model: EntityGraphModel, tokenizer: CodeTokenizer, document: TextDocument
) -> list[join.Mention]:
    """The mentions that a model finds in a document, in order; given ones are not looked at."""
    tokens = tokenizer.encode(document.text)
    if not len(tokens):
        return []
    bare = replace(document, mentions=(), facts=())
    chunks = text_chunks(bare, tokens, CHUNK, Funnel())
    edges = sentence_edges(tokenizer)
    most = model.config.encoder.max_position_embeddings
    lengths = [len(chunk.ids) for chunk in chunks]
    parts = windows(lengths, most - sum(edge is not None for edge in edges))
    passages = [
        passage(
            0,
            [chunk.ids.tolist() for chunk in chunks[first:stop]],
            [[] for _ in chunks[first:stop]],
            {},
            set(),
            edges,
            most,
            [chunk.cases.tolist() for chunk in chunks[first:stop] if chunk.cases is not None],
        )
        for first, stop in parts
    ]
    before = int(edges[0] is not None)
    begins = [sum(lengths[:first]) for first, _ in parts]
    ends = [sum(lengths[:stop]) for _, stop in parts]
    found: list[join.Mention] = []
    for number, spans in enumerate(find_spans(model, passages)):
        for span in spans:
            first, stop = (place - before + begins[number] for place in span[:2])
            # A mention of the marks around a text is none.
            inside = begins[number] <= first and stop <= ends[number]
            if inside and _reader_of(first, begins, ends) == number:
                start, end = _trimmed(document.text, tokens, first, stop)
                found.append(join.Mention(start, end, model.config.types[span.type + 1], span.probability))
    return sorted(found)


def _reader_of(place: int, begins: Sequence[int], ends: Sequence[int]) -> int:
    """The window in which a token is farthest from the edges; the first of equal ones."""
    inside = [number for number in range(len(begins)) if begins[number] <= place < ends[number]]
    return max(inside, key=lambda number: (min(place - begins[number], ends[number] - 1 - place), -number))


def _trimmed(text: str, tokens: Tokens, first: int, stop: int) -> tuple[int, int]:
    """The characters of whole words from the first token to the last."""
    words = tokens.words
    while first > 0 and words[first - 1] == words[first]:
        first -= 1
    while stop < len(tokens) and words[stop] == words[stop - 1]:
        stop += 1
    return int(tokens.starts[first]), int(tokens.ends[stop - 1])
