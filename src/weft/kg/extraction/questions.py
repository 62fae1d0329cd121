"""What a model is asked about a chunk: a head, a relation, and what is known beside the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.tokens import PAD, CodeTokenizer
from weft.kg.languages.language import Language
from weft.kg.languages.unit import Clue
from weft.kg.represent.given import Clues


@dataclass(frozen=True)
class Question:
    """A head in a chunk and a relation to ask for.

    Args:
        head: The identifier.
        relation: Relation id.
        start: Index of its first token in the chunk.
        length: Number of its tokens.
        stated: Tails that the syntax states.
        clues: What the tree tells of an answer that nothing states.
    """

    head: str
    relation: int
    start: int
    length: int
    stated: tuple[str, ...]
    clues: tuple[Clue, ...] = ()


def questions(chunk: Chunk, spoken: Language, tokenizer: CodeTokenizer) -> list[Question]:
    """What the syntax of a chunk speaks of, and what it is silent about.

    Args:
        chunk: With its facts.
        spoken: Its language.
        tokenizer: Spells their tails.
    """
    stated: dict[tuple[int, int], list[str]] = {}
    schema = spoken.schema
    silent = {
        schema.id_of(name): [(side, schema.id_of(asked)) for side, asked in questions]
        for name, questions in spoken.silent.items()
    }
    for triple in chunk.triples:
        stated.setdefault((triple.head_word, triple.relation), []).append(tokenizer.text(triple.tail_ids))
        for side, asked in silent.get(triple.relation, ()):
            word = triple.head_word if side == "head" else triple.tail_word
            if word < len(chunk.names):
                stated.setdefault((word, asked), [])
    return [
        Question(chunk.names[word], relation, *_tokens_of(chunk, word), tuple(tails))
        for (word, relation), tails in stated.items()
    ]


def question_about(chunk: Chunk, name: str, relation: int, clues: tuple[Clue, ...] = ()) -> Question | None:
    """A question about a name that stands in a chunk; None where it does not."""
    if name not in chunk.names:
        return None
    return Question(name, relation, *_tokens_of(chunk, chunk.names.index(name)), (), clues)


def shown(
    part: Sequence[Sequence[Question]], spoken: Language, tokenizer: CodeTokenizer, longest: int
) -> Clues | None:
    """The clues of the questions of some chunks, as a model reads them; None where there are none.

    Args:
        part: The questions of each chunk.
        spoken: Knows the kinds of clues.
        tokenizer: Spells what they name.
        longest: K; what is longer is left out.
    """
    rows = []
    for asked in part:
        row = []
        for item in asked:
            for clue in item.clues:
                ids = tokenizer.tail(clue.name)
                if 0 < len(ids) <= longest:
                    relation = spoken.schema.size + spoken.clues.index(clue.kind)
                    row.append(((1, relation, item.start, item.length, len(ids)), ids))
        rows.append(row)
    most = max(map(len, rows), default=0)
    if not most:
        return None
    columns = torch.zeros(5, len(rows), most, dtype=torch.int64)
    tails = torch.full((len(rows), most, longest), PAD, dtype=torch.int64)
    for number, row in enumerate(rows):
        for place, (values, ids) in enumerate(row):
            columns[:, number, place] = torch.tensor(values)
            tails[number, place, : len(ids)] = torch.tensor(ids)
    there, relation, start, length, size = columns
    return Clues(there.bool(), relation, start, length, tails, size)


def _tokens_of(chunk: Chunk, word: int) -> tuple[int, int]:
    """First token and number of tokens of a word, where it stands first."""
    places = (chunk.words == word).nonzero()[0]
    length = 1
    while length < len(places) and places[length] == places[0] + length:
        length += 1
    return int(places[0]), length
