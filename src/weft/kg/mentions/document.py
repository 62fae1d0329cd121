"""A document that nobody prepared, with the mentions that a model finds in it and the entities that they make."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weft.kg.dataset.tokens import CodeTokenizer, Tokens
from weft.kg.mentions import join
from weft.kg.mentions.cells import with_cells
from weft.kg.mentions.find import find_spans
from weft.kg.mentions.join import join_mentions, with_agreed_types
from weft.kg.model.entity_graph import EntityGraphModel
from weft.kg.read.datelines import datelines
from weft.kg.read.documents import Mention, TextDocument
from weft.kg.read.items import line_starts
from weft.kg.read.labels import Labels
from weft.kg.read.sentences import EMPTY_LINE
from weft.kg.represent.document import document_passages
from weft.kg.represent.passages import sentence_edges

_EMPTY_LINE = re.compile(rf"{EMPTY_LINE}\s*")
_LABEL = re.compile(r"[ \t]*\r?\n(?=[ \t]*[^\n:.]{1,40}:\s)")
"""The end of a line below which the next one begins with its label: "Chairwoman: Lone Friis", "Parent company: …"."""
_LETTER = re.compile(r"[^\W_]")
"""Where an item's own words begin, behind its mark."""
_ARTICLE = re.compile(r"the(?:\s+|$)")
_SPECIAL = re.compile(r"\[(?:CLS|MASK|PAD|SEP|UNK)\]")
"""Marks of other models in a text, which name nothing."""
_DEAR = re.compile(r"(?:Dear|DEAR)\s+(?=\w)")
"""How letters begin; it is no name."""


def with_mentions(
    model: EntityGraphModel,
    tokenizer: CodeTokenizer,
    document: TextDocument,
    *,
    typed: bool = True,
    labels: Labels | None = None,
) -> TextDocument:
    """The document with found mentions beside those that it has; those keep their names and come first.

    A found mention over a given one is left out. Where mentions of both kinds are one entity
    (:func:`weft.kg.mentions.join.join_mentions`), it is the given one.

    Args:
        model: One that finds mentions.
        tokenizer: Its vocabulary.
        document: Given mentions have entity numbers of their own, which stay.
        typed: Whether given ones of no type take that of which the model is surest, where it finds the same words.
        labels: What the labels of tables and forms say; None where they are read as any text.
    """
    every = mentions_in(model, tokenizer, document, labels)
    given = sorted(_typed(document.mentions, every) if typed else document.mentions)
    taken = bytearray(len(document.text))
    for item in given:
        taken[item.start : item.end] = b"\1" * (item.end - item.start)
    found = [item for item in every if 1 not in taken[item.start : item.end]]
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
            Mention(both[place].start, both[place].end, *label, both[place].probability)
            for place in entity.mentions
            if place >= len(given)
        ]
    return replace(document, mentions=tuple(sorted(mentions)))


def _typed(given: Sequence[Mention], found: Sequence[join.Mention]) -> list[Mention]:
    """Given mentions, those of entities without a type with the surest type that is found at one of them."""
    at = {(item.start, item.end): item for item in found}
    surest: dict[int, join.Mention] = {}
    for item in given:
        same = at.get((item.start, item.end))
        if same is not None and not item.type:
            surest[item.entity] = max(
                surest.get(item.entity, same), same, key=lambda mention: mention.probability
            )
    return [
        item._replace(type=surest[item.entity].type) if not item.type and item.entity in surest else item
        for item in given
    ]


def mentions_in(
    model: EntityGraphModel, tokenizer: CodeTokenizer, document: TextDocument, labels: Labels | None = None
) -> list[join.Mention]:
    """The mentions that a model finds in a document, in order; given ones are not looked at.

    Those that read alike have one type (:func:`weft.kg.mentions.join.with_agreed_types`). None goes on over an empty
    line or into the next item of a list, and those of a dateline are none. In tables and forms labels have their say
    (:func:`weft.kg.mentions.cells.with_cells`).
    """
    bare = replace(document, mentions=(), facts=())
    most = model.config.encoder.max_position_embeddings
    # A mention needs what stands around it, not half a passage: with one chunk shared, 64 tokens at least.
    passages = document_passages(bare, tokenizer, model.config.types, most, shared=1)
    if not passages:
        return []
    tokens = tokenizer.encode(document.text)
    before = int(sentence_edges(tokenizer)[0] is not None)
    begins = [int(np.searchsorted(tokens.starts, chunks[0].starts[0])) for _, chunks in passages]
    ends = [
        begin + sum(len(chunk.ids) for chunk in chunks)
        for begin, (_, chunks) in zip(begins, passages, strict=True)
    ]
    edges = [place.span() for place in _LABEL.finditer(document.text)]
    named = _SPECIAL.sub(lambda mark: " " * len(mark[0]), document.text)
    breaks = _breaks(document.text, tokens)
    inside = [
        [place - begin + before for place in breaks if begin <= place < end]
        for begin, end in zip(begins, ends, strict=True)
    ]
    found: list[join.Mention] = []
    for number, spans in enumerate(find_spans(model, [example for example, _ in passages], breaks=inside)):
        for span in spans:
            first, stop = (place - before + begins[number] for place in span[:2])
            # A mention of the marks around a text is none.
            whole = begins[number] <= first and stop <= ends[number]
            if whole and _reader_of(first, begins, ends) == number:
                start, end = _trimmed(tokens, first, stop)
                end = _ending(edges, start, end)
                kind = model.config.types[span.type + 1]
                start += _beginning(document.text[start:end], kind)
                end = start + len(document.text[start:end].rstrip())
                if any(character.isalnum() for character in named[start:end]):
                    found.append(join.Mention(start, end, kind, span.probability))
    names = _of_no_dateline(document.text, sorted(found))
    names = with_agreed_types(document.text, names)
    return names if labels is None else with_cells(document.text, names, labels)


def _breaks(text: str, tokens: Tokens) -> list[int]:
    """The tokens at which no name goes on: behind empty lines, of items of lists and rows of tables."""
    items = [found.start() for place in line_starts(text) if (found := _LETTER.search(text, place))]
    starts = [*(gap.end() for gap in _EMPTY_LINE.finditer(text)), *line_starts(text), *items]
    return np.unique(np.searchsorted(tokens.starts, np.array(starts, dtype=np.int64))).tolist()


def _of_no_dateline(text: str, mentions: list[join.Mention]) -> list[join.Mention]:
    """The mentions but for those of datelines: where and when a text was written, and nothing of its subjects.

    Where the words alone do not tell that it is one ("Anna Holm, 2 May 2016."), a place has to open it.
    """
    dropped: list[tuple[int, int]] = []
    for line in datelines(text):
        opening = next((item.type for item in mentions if line.start <= item.start < line.end), "")
        if line.sure or opening == join.PLACE:
            dropped.append((line.start, line.end))
    return [item for item in mentions if not any(start <= item.start < end for start, end in dropped)]


def _reader_of(place: int, begins: Sequence[int], ends: Sequence[int]) -> int:
    """The window in which a token is farthest from the edges; the first of equal ones."""
    inside = range(bisect_right(ends, place), bisect_right(begins, place))
    return max(inside, key=lambda number: (min(place - begins[number], ends[number] - 1 - place), -number))


def _beginning(surface: str, kind: str) -> int:
    """Where a name begins: after its article and "Dear"."""
    before = None if kind in join.ALONE else _ARTICLE.match(surface)
    if before is None and kind == join.PERSON:
        before = _DEAR.match(surface)
    return 0 if before is None else before.end()


def _ending(labels: Sequence[tuple[int, int]], start: int, end: int) -> int:
    """Where a name ends: before a line that begins with a label."""
    following = bisect_right(labels, start, key=lambda label: label[1])
    return end if following == len(labels) else min(end, max(start, labels[following][0]))


def _trimmed(tokens: Tokens, first: int, stop: int) -> tuple[int, int]:
    """The characters of whole words from the first token to the last."""
    words = tokens.words
    while first > 0 and words[first - 1] == words[first]:
        first -= 1
    while stop < len(tokens) and words[stop] == words[stop - 1]:
        stop += 1
    return int(tokens.starts[first]), int(tokens.ends[stop - 1])
