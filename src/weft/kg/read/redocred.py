"""Re-DocRED: documents in words, with entities, their mentions and types, and facts between them.

Source:
    Tan et al. (2022), Revisiting DocRED; the file format of Yao et al. (2019), DocRED.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from weft.errors import InputError
from weft.kg.read.documents import GivenFact, Mention, TextDocument
from weft.kg.read.funnel import Funnel
from weft.kg.schema import Schema
from weft.platform.reading import read_json

UNREAD_RECORDS = "documents that cannot be read"
"""The reason of a funnel."""
_CLOSING = frozenset(
    (",", ".", ";", ":", "!", "?", ")", "]", "%", "'s", "’s", "n't", "'m", "'re", "'ve", "'ll")
)
_OPENING = frozenset(("(", "[", "$"))


def redocred_schema() -> Schema:
    """The relations of Re-DocRED, with readable names; Wikidata's numbers are their further names."""
    with as_file(files("weft.kg.read").joinpath("redocred_schema.json")) as path:
        return Schema.load(path)


def read_redocred(path: Path, funnel: Funnel, *, labelled: bool = True) -> Iterator[TextDocument]:
    """The documents of one file.

    Args:
        path: A JSON list of documents.
        funnel: Counts and lists documents that are none.
        labelled: Whether a document needs its facts; that of DocRED's own test file has none.

    Raises:
        InputError: The file cannot be read, or is no such list.
    """
    data = read_json(path)
    if not isinstance(data, list):
        raise InputError(
            "a Re-DocRED file is a JSON list of documents",
            where=str(path),
            hint="texts go into a .jsonl, an object with a 'text' in each line",
        )
    for number, record in enumerate(data):
        try:
            yield _document(record, labelled)
        except (InputError, KeyError, IndexError, TypeError, ValueError) as error:
            funnel.fail(UNREAD_RECORDS, f"{path.name}: document {number}", _why(record, error))


def _why(record: Any, error: Exception) -> str:
    """What a document of Re-DocRED would have and this one has not."""
    if isinstance(record, dict) and "text" in record and "sents" not in record:
        return (
            "a text, and no sentences of words (texts go into a .jsonl, an object with a 'text' in each line)"
        )
    if isinstance(error, InputError):
        return error.what
    if isinstance(error, KeyError):
        return f"lacks {error}"
    if isinstance(error, IndexError):
        return "names a word or a sentence that it does not have"
    return "has a value of another form than Re-DocRED's"


def _document(record: dict[str, Any], labelled: bool) -> TextDocument:
    text, spans, sentences = join_words(record["sents"])
    mentions, names = [], []
    for entity, places in enumerate(record["vertexSet"]):
        if not places:
            raise InputError(f"entity {entity} has no mention")
        # The first mention that is spelled out longest: "Wilfried Schneider", not "Schneider".
        names.append(max((str(place["name"]) for place in places), key=len))
        for place in places:
            first, last = place["pos"][0], place["pos"][1] - 1
            if not 0 <= first <= last:
                raise InputError(f"a mention of words {place['pos']}")
            if place["sent_id"] < 0:
                raise InputError(f"a mention in sentence {place['sent_id']}")
            words = spans[place["sent_id"]]
            mentions.append(
                Mention(words[first][0], words[last][1], entity, names[entity], str(place["type"]))
            )
    facts = []
    for label in record["labels"] if labelled else record.get("labels", ()):
        head, tail = int(label["h"]), int(label["t"])
        if not (0 <= head < len(names) and 0 <= tail < len(names)):
            raise InputError(f"a fact of entities {head} and {tail}; there are {len(names)}")
        facts.append(GivenFact(head, str(label["r"]), tail))
    if not str(record["title"]).strip():
        raise InputError("an empty title")
    return TextDocument(
        str(record["title"]), text, tuple(mentions), tuple(dict.fromkeys(facts)), tuple(sentences)
    )


def join_words(
    sentences: Sequence[Sequence[str]],
) -> tuple[str, list[list[tuple[int, int]]], list[int]]:
    """Words as a text, with spaces where English has them.

    Args:
        sentences: The words of each sentence.

    Returns:
        The text, the span of every word of every sentence, and where each sentence starts.

    Raises:
        TypeError: A sentence that is a text, of which each letter would be taken for a word.
    """
    if any(isinstance(words, str) for words in (sentences, *sentences)):
        raise TypeError("a text in place of a list of words")
    parts: list[str] = []
    spans: list[list[tuple[int, int]]] = []
    starts: list[int] = []
    length, before = 0, "("
    for words in sentences:
        inside: list[tuple[int, int]] = []
        for number, word in enumerate(words):
            if before not in _OPENING and (number == 0 or word not in _CLOSING):
                parts.append(" ")
                length += 1
            inside.append((length, length + len(word)))
            parts.append(word)
            length += len(word)
            before = word
        spans.append(inside)
        starts.append(inside[0][0] if inside else length)
    return "".join(parts), spans, starts
