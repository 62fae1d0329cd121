"""`weft bench kg-text`: raw text to facts by the shipped model, chunks of 128 tokens per second, in each arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from itertools import pairwise
from random import Random

from weft.bench.measure import medians
from weft.bench.table import Row
from weft.encoder.answering.product import cpu_multiplies_int8
from weft.kg.extraction.entities import EntityExtractor
from weft.kg.read.documents import TextDocument
from weft.kg.read.sentences import sentence_starts
from weft.kg.represent.document import CHUNK
from weft.platform.models import find_model

_WANTED = 20.0
"""Chunks of a process and a second: 40 on two processors."""
_SHORT, _LONG = 12, 130
"""Sentences of a document."""


def rows(quick: bool = False) -> Iterator[Row]:
    """Mentions, entities, facts: all that ``weft kg extract`` computes of a document, by processor time of one process.

    The documents are sentences of the demonstration's texts, drawn anew for each: a page, and one of many windows.
    """
    folder = find_model("kg", "kg-text-small")
    plain = EntityExtractor.load(folder)
    repeats = 1 if quick else 5
    for name, documents in _documents().items():
        chunks = sum(len(plain.tokenizer.encode(item.text)) for item in documents) / CHUNK

        def read(extractor: EntityExtractor, documents: list[TextDocument] = documents) -> None:
            for document in documents:
                extractor.facts_of(extractor.with_found(document))

        for precision in ("int8", "bf16") if cpu_multiplies_int8() else ("bf16",):
            faster = EntityExtractor.load(folder, precision=precision)
            ours, baseline = medians(lambda fast=faster: read(fast), lambda: read(plain), repeats, warmup=1)
            yield Row("kg text: fp32 / of other products", name, precision, "ms", ours, baseline)
            rate = chunks / ours * 1e3
            yield Row(
                "kg text: chunks/s of one process", name, precision, "1/s", rate, _WANTED, "higher", target=1
            )


def _documents() -> dict[str, list[TextDocument]]:
    """Documents of a page, and a long one."""
    place = files("weft.demo").joinpath("made_up")
    sentences: list[str] = []
    for name in ("ekdahl.md", "merger.txt"):
        text = place.joinpath(name).read_text(encoding="utf-8")
        edges = [*sentence_starts(text), len(text)]
        sentences += [text[start:stop].strip() for start, stop in pairwise(edges)]
    draw = Random(0)

    def drawn(size: int) -> str:
        return " ".join(draw.choice(sentences) for _ in range(size))

    pages = [TextDocument(f"page {number}", drawn(_SHORT)) for number in range(12)]
    return {"12 pages": pages, "a long text": [TextDocument("long", drawn(_LONG))]}
