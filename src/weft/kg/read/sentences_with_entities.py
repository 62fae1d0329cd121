"""CrossRE and FewRel: sentences whose entities are marked, as documents; to measure with, FewRel to train with, too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.errors import InputError
from weft.kg.read.documents import GivenFact, Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.read.redocred import join_words
from weft.platform.reading import lines, parse_json, read_json

_UNREAD = "sentences that cannot be read"
"""The reason of a funnel."""


def read_crossre(path: Path, funnel: Funnel) -> Iterator[TextDocument]:
    """The sentences of one file of CrossRE, JSON lines; every entity has one mention, facts have CrossRE's relations.

    Args:
        path: ``{"doc_key", "sentence": [word, …], "ner": [[first, last, type], …], "relations": […]}`` in each line.
        funnel: Counts and lists sentences that are none.

    Raises:
        InputError: The file cannot be read.

    Source:
        Bassignana and Plank 2022, "CrossRE: A Cross-Domain Dataset for Relation Extraction".
    """
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        try:
            record = parse_json(line, where=f"{path}, line {number}")
            yield _crossre(record)
        except (InputError, KeyError, IndexError, TypeError, ValueError) as error:
            funnel.fail(_UNREAD, f"{path.name}: line {number}: {_why(error)}")


def read_fewrel(path: Path, funnel: Funnel) -> Iterator[TextDocument]:
    """The sentences of a file of FewRel: two entities each, and the one fact between them.

    Args:
        path: A JSON object of Wikidata properties, a list of ``{"tokens", "h", "t"}`` for each.
        funnel: Counts and lists sentences that are none.

    Raises:
        InputError: The file cannot be read, or is no such object.

    Source:
        Han et al. 2018, "FewRel: A Large-Scale Supervised Few-Shot Relation Classification Dataset".
    """
    data = read_json(path)
    if not isinstance(data, dict):
        raise InputError("a FewRel file is a JSON object of relations", where=str(path))
    for relation, records in data.items():
        for number, record in enumerate(records if isinstance(records, list) else [None]):
            try:
                yield _fewrel(relation, number, record)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                funnel.fail(_UNREAD, f"{path.name}: {relation} {number}: {_why(error)}")


def _why(error: Exception) -> str:
    """What is wrong with a sentence, in words."""
    if isinstance(error, InputError):
        return error.what
    if isinstance(error, IndexError):
        return "names a word that it does not have"
    return f"lacks {error}" if isinstance(error, KeyError) else str(error)


def _crossre(record: Mapping[str, Any]) -> TextDocument:
    text, spans, _ = join_words([record["sentence"]])
    numbers: dict[tuple[int, int], int] = {}
    mentions: list[Mention] = []
    for first, last, kind in record["ner"]:
        place = (int(first), int(last))
        if place not in numbers:
            numbers[place] = len(numbers)
            mentions.append(
                _mention(text, spans[0], range(place[0], place[1] + 1), numbers[place], str(kind))
            )
    facts = []
    for first, last, other_first, other_last, relation, *_ in record["relations"]:
        ends = (first, last), (other_first, other_last)
        for place in ends:
            if place not in numbers:
                raise InputError(f"a relation of words {list(place)}, which are no entity")
        facts.append(GivenFact(numbers[ends[0]], str(relation), numbers[ends[1]]))
    return TextDocument(str(record["doc_key"]), text, tuple(mentions), tuple(dict.fromkeys(facts)), (0,))


def _fewrel(relation: str, number: int, record: Any) -> TextDocument:
    text, spans, _ = join_words([record["tokens"]])
    mentions = tuple(
        _mention(text, spans[0], [int(word) for word in places], entity, "")
        for entity, end in enumerate(("h", "t"))
        for places in record[end][2]
    )
    return TextDocument(f"{relation}-{number}", text, mentions, (GivenFact(0, relation, 1),), (0,))


def _mention(
    text: str, words: Sequence[tuple[int, int]], places: Sequence[int], entity: int, kind: str
) -> Mention:
    if not places or places[0] < 0 or places[-1] < places[0]:
        raise ValueError(f"a mention of words {list(places)}")
    start, end = words[places[0]][0], words[places[-1]][1]
    return Mention(start, end, entity, text[start:end], kind)
