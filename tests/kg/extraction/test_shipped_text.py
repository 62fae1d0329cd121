"""The shipped model of text: a folder of texts needs nothing else, and gives the same bytes every time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import weft.demo
from weft.kg.extraction.extract import Extraction, extract
from weft.kg.extraction.model import CODE_MODEL, TEXT_MODEL, model_for
from weft.kg.storage.graph import Graph

TEXTS = Path(weft.demo.__file__).parent / "made_up"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    store = tmp_path_factory.mktemp("texts") / "store"
    assert not extract(TEXTS, store).failed
    return Graph.load(store)


def test_a_folder_of_texts_is_read_without_being_told_how(graph: Graph) -> None:
    assert graph.runs["model"].to_pylist() == [TEXT_MODEL]
    facts = {
        (fact.head, fact.relation, fact.tail): fact.confidence
        for entity in graph.entities
        for fact in graph.facts(entity)
    }
    assert facts["Aarhus", "country", "Denmark"] > 0.5
    assert facts["Kestrel Line", "inception", "1987"] > 0.3
    assert facts["Karin Ekdahl", "educated_at", "Chalmers University"] > 0.3
    texts = {path.name: path.read_text(encoding="utf-8") for path in TEXTS.iterdir()}
    for entity in graph.entities:
        for fact in graph.facts(entity):
            for place in graph.places(fact.row):
                assert place.document.split("/")[-1] in texts
                assert place.sentence
                assert 0 <= place.chunk[0] <= place.start < place.end <= place.chunk[1]


def test_the_same_bytes_with_any_number_of_processes_and_threads(graph: Graph, tmp_path: Path) -> None:
    for number, options in enumerate((Extraction(workers=2), Extraction(threads=2))):
        store = tmp_path / str(number)
        extract(TEXTS, store, replace(options, name="made_up"))
        again = Graph.load(store)
        for name in ("evidence", "triples", "names"):
            assert _bytes(getattr(again, name)) == _bytes(getattr(graph, name)), name


def _bytes(table: pa.Table) -> bytes:
    # Revisions number the documents in the order in which they were done.
    table = table.drop_columns([name for name in table.schema.names if name == "revision"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


def test_which_model_reads_what(tmp_path: Path) -> None:
    assert model_for(TEXTS) == TEXT_MODEL
    assert model_for(tmp_path / "note.PDF") == TEXT_MODEL
    assert model_for(tmp_path / "dev.json") == TEXT_MODEL
    assert model_for(tmp_path / "code.py") == CODE_MODEL
    assert model_for(tmp_path) == CODE_MODEL
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "readme.md").write_text("x")
    assert model_for(tmp_path) == TEXT_MODEL
    (tmp_path / "setup.py").write_text("")
    assert model_for(tmp_path) == CODE_MODEL
