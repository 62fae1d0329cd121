"""One document as passages that a model of texts reads at once."""

from __future__ import annotations

from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.text_chunks import text_chunks
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.read.documents import TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.represent.entities import EntityExample
from weft.kg.represent.passages import passage, sentence_edges, windows
from weft.kg.schema import Schema

CHUNK = 128
"""Tokens of a chunk; a model reads as many chunks at once as its positions allow."""


def document_passages(
    document: TextDocument,
    tokenizer: CodeTokenizer,
    types: tuple[str, ...],
    most: int,
    *,
    schema: Schema | None = None,
    number: int = 0,
    funnel: Funnel | None = None,
    shared: int | None = None,
    window: int | None = None,
) -> list[tuple[EntityExample, list[Chunk]]]:
    """Passages of a document with its mentions, and the chunks of each; none for a text without tokens.

    Args:
        document: With its mentions, if it has any.
        tokenizer: Of the model.
        types: Its types of entities; the first is "", "not known".
        most: Tokens that it reads at once.
        schema: Relations of the document's facts; without, facts are left out.
        number: The document's number.
        funnel: Counts and lists mentions that no tokens fit.
        shared: Chunks that passages have in common; half of each where None, so that pairs stand together in one.
        window: Tokens of a passage where the document is longer than ``most``; ``most`` where None.
    """
    tokens = tokenizer.encode(document.text)
    if not len(tokens):
        return []
    chunks = text_chunks(document, tokens, CHUNK, funnel or Funnel())
    edges = sentence_edges(tokenizer)
    ids = {} if schema is None else schema.ids()
    facts = {(fact.head, ids[fact.relation], fact.tail) for fact in document.facts if fact.relation in ids}
    kinds = {kind: place for place, kind in enumerate(types)}
    found: list[tuple[EntityExample, list[Chunk]]] = []
    around = sum(edge is not None for edge in edges)
    room = (min(window, most) if window is not None and len(tokens) > most - around else most) - around
    for first, stop in windows([len(chunk.ids) for chunk in chunks], room, shared):
        part = chunks[first:stop]
        standing = [
            [(item.entity, item.first, item.first + item.length) for item in chunk.mentions] for chunk in part
        ]
        known = {item.entity: kinds.get(item.type, 0) for chunk in part for item in chunk.mentions}
        tokens_of = [chunk.ids.tolist() for chunk in part]
        cases = [chunk.cases.tolist() for chunk in part if chunk.cases is not None]
        example = passage(number, tokens_of, standing, known, facts, edges, most, cases)
        found.append((example, part))
    return found
