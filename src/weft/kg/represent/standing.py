"""The chunks of a data set of text with the entities that stand in them, as questions are asked of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.given_facts import first_spelled
from weft.kg.dataset.tables import read_table
from weft.kg.dataset.text_chunks import entity_words
from weft.kg.dataset.tokens import UNKNOWN
from weft.kg.model.choose import Standing


class AskedChunk(NamedTuple):
    """A chunk of a document and its entities."""

    document: int
    ids: tuple[int, ...]
    standing: tuple[Standing, ...]


def standing_in(chunk: Chunk, longest: int) -> tuple[Standing, ...]:
    """The entities of a chunk, in order of their first mention.

    Args:
        chunk: With its mentions.
        longest: K; an entity of whose mentions none is as short cannot be a tail.
    """
    found: list[Standing] = []
    for entity, mentions in entity_words(chunk).items():
        first, tail = mentions[0], first_spelled(chunk, mentions, longest)
        ids = () if tail is None else tuple(chunk.ids[tail.first : tail.first + tail.length].tolist())
        found.append(Standing(entity, first.first, first.length, first.type, ids))
    return tuple(found)


def load_asked(folder: Path, documents: Sequence[int], longest: int) -> list[AskedChunk]:
    """The chunks of some documents of a data set that two entities or more stand in.

    Args:
        folder: The data set.
        documents: Their numbers.
        longest: As above.

    Raises:
        InputError: A table is missing.
    """
    chunks, mentions = read_table(folder, "chunks"), read_table(folder, "mentions")
    ids = chunks["ids"].to_pylist()
    placed: dict[int, dict[int, list[tuple[int, int, str]]]] = defaultdict(dict)
    columns = ("chunk", "entity", "first", "length", "type")
    for chunk, entity, first, length, kind in zip(
        *(mentions[column].to_pylist() for column in columns), strict=True
    ):
        placed[chunk].setdefault(entity, []).append((first, length, kind))
    wanted = set(documents)
    found: list[AskedChunk] = []
    for number, document in enumerate(chunks["document"].to_pylist()):
        if document not in wanted or len(placed[number]) < 2:
            continue
        standing = []
        for entity, places in placed[number].items():
            spelled = (
                ids[number][first : first + length] for first, length, _ in places if length <= longest
            )
            tail = next((tokens for tokens in spelled if UNKNOWN not in tokens), ())
            standing.append(Standing(entity, *places[0], tuple(tail)))
        found.append(AskedChunk(document, tuple(ids[number]), tuple(standing)))
    return found
