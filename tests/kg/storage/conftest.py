"""Small stores: one of plain facts, one of everything that a corpus may hold and a format must survive."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.kg.schema import Relation, Schema
from weft.kg.storage.layout import Evidence
from weft.kg.storage.writer import Writer, create_store, open_writer

SCHEMA = Schema((Relation("knows", "the head knows the tail"), Relation("born in", "the tail is a place")))
ODD = 'Zoë "the <b>cat</b>" \\ &amp; \U0001f408\u2028 \x01 né\tin </script><script>alert(1)</script>'
"""A name with quotes, markup, a character outside the basic plane, a control character, a line separator."""


def evidence(head: str, relation: str, tail: str, confidence: float = 0.9, start: int = 0) -> Evidence:
    """A place whose sentence says the fact."""
    sentence = f"{head} {relation} {tail}."
    end = start + len(head)
    return Evidence(
        head, relation, tail, confidence, start, end, start, start + len(sentence), 1 + start, sentence
    )


def put(writer: Writer, document: str, *places: Evidence, digest: str = "00") -> None:
    """Commit a document."""
    writer.put(document, "corpus", digest, "model-1", places)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three documents; Ada and ADA are one entity, stated twice to know Bo."""
    folder = tmp_path / "store"
    create_store(folder, SCHEMA, "folded")
    with open_writer(folder) as writer:
        writer.begin_run("model", "model-1")
        put(writer, "one", evidence("Ada", "knows", "Bo", 0.9), evidence("Ada", "born in", "Oslo", 0.6, 40))
        put(writer, "two", evidence("ADA", "knows", "Bo", 0.7), evidence("Bo", "knows", "Cy", 0.95, 30))
        put(writer, "three", evidence("Ada", "knows", "Cy", 0.3))
        writer.finish()
    return folder


@pytest.fixture
def odd_store(tmp_path: Path) -> Path:
    """A store whose names, sentences and documents hold what breaks careless writers."""
    folder = tmp_path / "odd"
    create_store(folder, SCHEMA)
    with open_writer(folder) as writer:
        put(
            writer,
            "päth/with space#1,2.txt",
            evidence(ODD, "knows", "Bo", 0.5),
            evidence("Bo", "born in", ODD, 1.0, 9),
        )
        put(
            writer,
            'q"uote\nline',
            evidence("a\r\nb", "knows", "Bo", 0.25),
            evidence(ODD, "born in", "a, b; c", 0.125),
        )
        writer.finish()
    return folder
