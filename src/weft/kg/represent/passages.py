"""A data set of text as passages: whole chunks of a document, as many as the encoder reads at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from weft.errors import CheckpointError, InputError
from weft.kg.dataset.tables import read_table
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.represent.entities import EntityExample
from weft.kg.schema import Schema

Fact = tuple[int, int, int]
"""Head, relation, tail: numbers of entities in a document, and a relation id."""


@dataclass(frozen=True)
class TextEntity:
    """An entity of a document.

    Args:
        name: What it is called.
        type: Its type's name; ``""`` where it is not known.
    """

    name: str
    type: str


@dataclass(frozen=True)
class TextDataset:
    """A data set of text, read.

    Args:
        folder: Where it lies.
        schema: Relations.
        tokenizer: Of its ids.
        types: Names of the entity types by id; 0 is "not known".
        titles: Of the documents.
        parts: ``"train"``, ``"valid"`` or ``"test"`` of each document.
        passages: Of all documents, in order.
        entities: Of each document, by their numbers there.
        facts: Of each document.
    """

    folder: Path
    schema: Schema
    tokenizer: CodeTokenizer
    types: tuple[str, ...]
    titles: tuple[str, ...]
    parts: tuple[str, ...]
    passages: tuple[EntityExample, ...]
    entities: tuple[dict[int, TextEntity], ...]
    facts: tuple[frozenset[Fact], ...]

    def documents_of(self, part: str) -> list[int]:
        """Numbers of the documents of one part."""
        return [number for number, name in enumerate(self.parts) if name == part]

    def passages_of(self, part: str) -> list[EntityExample]:
        """Passages of one part."""
        return [passage for passage in self.passages if self.parts[passage.document] == part]

    def check_model(self, vocab_size: int, num_relations: int, types: tuple[str, ...], where: str) -> None:
        """Check that a checkpoint was made for this vocabulary and schema, and these types.

        Raises:
            CheckpointError: It was not.
        """
        found = (vocab_size, num_relations, types)
        wanted = (self.tokenizer.vocab_size, self.schema.size, self.types)
        if found != wanted:
            raise CheckpointError(
                f"tokens, relation ids and types are {found}; the data set has {wanted}",
                where=where,
                hint="evaluate a model on a data set built with its vocabulary and schema",
            )


def is_text(folder: Path) -> bool:
    """Whether a data set is one of text: with mentions."""
    return (folder / "mentions.parquet").is_file()


def load_text_dataset(folder: Path, tokens: int = 512) -> TextDataset:
    """Read a data set of text that ``weft kg build`` made.

    Args:
        folder: Where it lies.
        tokens: Most tokens of a passage.

    Raises:
        InputError: A table is missing, or its rows contradict each other.
    """
    documents, chunks, mentions, facts = (
        read_table(folder, name) for name in ("documents", "chunks", "mentions", "facts")
    )
    if len(chunks) == 0:
        raise InputError("no chunks", where=str(folder))
    schema, tokenizer = Schema.load(folder / "schema.json"), CodeTokenizer.load(folder / "tokenizer.json")
    types = ("", *sorted(set(mentions["type"].to_pylist()) - {""}))
    entities: list[dict[int, TextEntity]] = [{} for _ in range(len(documents))]
    standing: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    columns = ("document", "chunk", "entity", "first", "length", "name", "type")
    for document, chunk, entity, first, length, name, kind in zip(
        *(mentions[column].to_pylist() for column in columns), strict=True
    ):
        entities[document].setdefault(entity, TextEntity(name, kind))
        standing[chunk].append((entity, first, first + length))
    known: list[set[Fact]] = [set() for _ in range(len(documents))]
    for document, head, relation, tail in zip(
        *(facts[column].to_pylist() for column in ("document", "head", "relation", "tail")), strict=True
    ):
        if not 0 < relation < schema.size:
            raise InputError(f"relation {relation} is not in the schema", where=str(folder))
        known[document].add((head, relation, tail))
    ids = chunks["ids"].to_pylist()
    cases = chunks["cases"].to_pylist() if "cases" in chunks.schema.names else None
    owned: dict[int, list[int]] = defaultdict(list)
    for chunk, document in enumerate(chunks["document"].to_pylist()):
        owned[document].append(chunk)
    edges = sentence_edges(tokenizer)
    passages: list[EntityExample] = []
    for document, mine in owned.items():
        numbers = {name: number for number, name in enumerate(types)}
        kinds = {entity: numbers[value.type] for entity, value in entities[document].items()}
        lengths = [len(ids[chunk]) for chunk in mine]
        for first, stop in windows(lengths, tokens - sum(edge is not None for edge in edges)):
            part = mine[first:stop]
            passages.append(
                passage(
                    document,
                    [ids[chunk] for chunk in part],
                    [standing[chunk] for chunk in part],
                    kinds,
                    known[document],
                    edges,
                    cases=None if cases is None else [cases[chunk] for chunk in part],
                )
            )
    return TextDataset(
        folder,
        schema,
        tokenizer,
        types,
        tuple(documents["module"].to_pylist()),
        tuple(documents["split"].to_pylist()),
        tuple(passages),
        tuple(entities),
        tuple(frozenset(of_one) for of_one in known),
    )


def sentence_edges(tokenizer: CodeTokenizer) -> tuple[int | None, int | None]:
    """The tokens that BERT puts around a text, where the vocabulary has them."""
    return tokenizer.tokenizer.token_to_id("[CLS]"), tokenizer.tokenizer.token_to_id("[SEP]")


def windows(lengths: Sequence[int], most: int, shared: int | None = None) -> list[tuple[int, int]]:
    """Runs of chunks ``first : stop`` of at most so many tokens, each from the middle of the one before.

    A chunk that is longer than that is a run by itself, and is cut.

    Args:
        lengths: Of the chunks.
        most: Tokens of a run.
        shared: How many chunks a run has in common with the one before, where it is longer than that; half of the
            one before where None.
    """
    found: list[tuple[int, int]] = []
    first = 0
    while not found or found[-1][1] < len(lengths):
        stop, total = first, 0
        while stop < len(lengths) and (stop == first or total + lengths[stop] <= most):
            total += lengths[stop]
            stop += 1
        found.append((first, stop))
        size = stop - first
        first += max(1, (size + 1) // 2 if shared is None else size - shared)
    return found


def passage(
    document: int,
    chunks: Sequence[Sequence[int]],
    mentions: Sequence[Sequence[tuple[int, int, int]]],
    types: dict[int, int],
    facts: set[Fact],
    edges: tuple[int | None, int | None] = (None, None),
    most: int = 1 << 30,
    cases: Sequence[Sequence[int]] | None = None,
) -> EntityExample:
    """Chunks that follow each other as one text.

    Args:
        document: Their document's number.
        chunks: Token ids of each.
        mentions: (entity, first, stop) of each.
        types: Type of each entity of the document.
        facts: Of the document; those between entities of these chunks are kept.
        edges: Tokens before and after the text.
        most: Tokens beyond these are cut.
        cases: Letter cases of each chunk's tokens.
    """
    before, after = ([edge] if edge is not None else [] for edge in edges)
    ids, spans = list(before), []
    for tokens, standing in zip(chunks, mentions, strict=True):
        spans += [(entity, first + len(ids), stop + len(ids)) for entity, first, stop in standing]
        ids += tokens
    ids = [*ids[: most - len(after)], *after]
    spans = [span for span in spans if span[2] <= len(ids) - len(after)]
    entity = sorted({span[0] for span in spans})
    place = {number: index for index, number in enumerate(entity)}
    inside = sorted(
        (place[head], relation, place[tail])
        for head, relation, tail in facts
        if head in place and tail in place and head != tail
    )
    columns = _rows(spans).unbind(1)
    return EntityExample(
        document=document,
        ids=torch.tensor(ids, dtype=torch.int64),
        mention_entity=torch.tensor([place[span[0]] for span in spans], dtype=torch.int64),
        mention_start=columns[1],
        mention_end=columns[2],
        types=torch.tensor([types[number] for number in entity], dtype=torch.int64),
        entity=torch.tensor(entity, dtype=torch.int64),
        facts=_rows(inside),
        cases=None if cases is None else _cases(cases, len(ids), len(before)),
    )


def _cases(cases: Sequence[Sequence[int]], length: int, before: int) -> Tensor:
    """The letter cases of a text's tokens; what stands around it has none."""
    joined = [*([0] * before), *(case for chunk in cases for case in chunk), 0]
    return torch.tensor(joined[:length], dtype=torch.int64)


def _rows(triples: Sequence[tuple[int, int, int]]) -> Tensor:
    return torch.tensor(triples, dtype=torch.int64).view(-1, 3)
