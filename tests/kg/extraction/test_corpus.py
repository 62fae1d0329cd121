"""Extraction into a store: incremental, in several processes, killed and resumed; always the same graph."""

from __future__ import annotations

import multiprocessing
import os
import re
from pathlib import Path

import pytest

from weft.bench.kg.store_corpus import LineLoader, LineReader, source
from weft.bench.kg.store_kill import kill_and_resume
from weft.errors import ConfigError, InputError
from weft.kg.extraction.corpus import Found, Report, Source, extract_corpus
from weft.kg.extraction.extract import Extraction
from weft.kg.storage.graph import Graph
from weft.kg.storage.layout import Evidence
from weft.kg.storage.rdf import ntriples

TEXTS = {
    "a": "Ada\trelation_1\tBo\t0.9\nBo\trelation_2\tCy\t0.5",
    "b": "ADA\trelation_1\tBo\t0.7",
    "c": "",
    "d": "not a fact",
    "e": "Cy\trelation_3\tDee\t0.8",
}


def sources(**changes: str | None) -> list[Source]:
    texts = {**TEXTS, **changes}
    return [source(f"corpus/{name}", text) for name, text in texts.items() if text is not None]


def extract(store: Path, found: list[Source], version: str = "lines-1", **options: object) -> Report:
    return extract_corpus(found, store, LineLoader(version), corpus="corpus", model="lines", **options)  # pyright: ignore[reportArgumentType]


def lines(store: Path) -> bytes:
    return b"".join(ntriples(Graph.load(store)))


def test_what_did_not_change_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = LineReader.read

    def note(self: LineReader, item: Source) -> Found:
        read.append(item.document[-1])
        return real(self, item)

    monkeypatch.setattr(LineReader, "read", note)
    first = extract(tmp_path / "s", sources())
    assert (first.read, first.empty, first.unchanged, first.facts) == (3, 1, 0, 4)
    assert first.failed == [("corpus/d", "line 1 has 1 fields, not 4")]
    before = lines(tmp_path / "s")
    assert read == list("abcde")
    again = extract(tmp_path / "s", sources())
    # One that could not be read is counted once.
    assert (again.read, again.unchanged, again.failed) == (0, 4, first.failed)
    assert read == list("abcde")
    assert lines(tmp_path / "s") == before
    changed = extract(tmp_path / "s", sources(b="Eve\trelation_1\tBo\t0.7", d="Eve\trelation_2\tCy\t0.1"))
    assert (changed.read, changed.replaced, changed.unchanged, changed.failed) == (2, 2, 3, [])
    assert read == list("abcdebd")
    graph = Graph.load(tmp_path / "s")
    assert graph.spellings("Ada") == []
    assert [place.document for place in graph.places(graph.facts("Ada")[0].row)] == ["corpus/a"]


def test_another_version_of_the_model_reads_everything_again(tmp_path: Path) -> None:
    extract(tmp_path / "s", sources())
    report = extract(tmp_path / "s", sources(), "lines-2")
    assert (report.read, report.replaced, report.unchanged) == (3, 4, 0)
    graph = Graph.load(tmp_path / "s")
    assert set(graph.documents["model"].to_pylist()) == {"lines-2"}
    assert graph.runs["version"].to_pylist() == ["lines-1", "lines-2"]
    assert graph.documents["run"].to_pylist() == [2] * 5


def test_what_can_no_longer_be_read_stays_as_it_was_read_last(tmp_path: Path) -> None:
    extract(tmp_path / "s", sources())
    before = lines(tmp_path / "s")
    for broken in ("not a fact", "not one either"):
        for prune in (False, True):
            report = extract(tmp_path / "s", sources(b=broken), prune=prune)
            assert (report.read, report.replaced, report.unchanged) == (0, 0, 3)
            assert dict(report.failed)["corpus/b"] == "line 1 has 1 fields, not 4"
            assert lines(tmp_path / "s") == before
    # It is asked each time, whatever it was when it was read last.
    assert extract(tmp_path / "s", sources(b="Eve\trelation_1\tBo\t0.7")).replaced == 1
    assert "Eve" in Graph.load(tmp_path / "s").entities
    assert extract(tmp_path / "s", sources()).replaced == 1
    assert lines(tmp_path / "s") == before


def test_a_document_that_cannot_be_completed_is_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    def complete(document: str, found: list[Evidence]) -> list[Evidence]:
        if document == "corpus/b":  # as a file that was taken away while a cluster read it
            raise InputError("no such file", where="b.py")
        return found

    first = extract(tmp_path / "s", sources(), complete=complete)
    assert first.failed == [("corpus/b", "no such file"), ("corpus/d", "line 1 has 1 fields, not 4")]
    assert (first.read, first.empty) == (2, 1)
    again = extract(tmp_path / "s", sources())
    assert (again.read, again.unchanged) == (1, 3)


def test_documents_that_are_gone_are_named_and_taken_out_on_request(tmp_path: Path) -> None:
    extract(tmp_path / "s", sources())
    named = extract(tmp_path / "s", sources(e=None))
    assert (named.gone, named.removed) == (["corpus/e"], False)
    assert "Dee" in Graph.load(tmp_path / "s").entities
    # Another corpus in the same store is left alone.
    extract_corpus(
        [source("other/x", TEXTS["e"])], tmp_path / "s", LineLoader(), corpus="other", model="lines"
    )
    pruned = extract(tmp_path / "s", sources(e=None), prune=True)
    assert pruned.removed
    graph = Graph.load(tmp_path / "s")
    assert [place.document for place in graph.places(graph.facts("Dee")[0].row)] == ["other/x"]


def test_order_processes_and_interruptions_change_no_byte(tmp_path: Path) -> None:
    extract(tmp_path / "one", sources())
    extract(tmp_path / "two", sources()[::-1], workers=2)
    extract(tmp_path / "parts", sources(a="Ada\trelation_9\tOld\t1.0", b=None))
    extract(tmp_path / "parts", sources())
    assert lines(tmp_path / "one") == lines(tmp_path / "two") == lines(tmp_path / "parts")
    assert len(lines(tmp_path / "one").splitlines()) > 20


def test_the_precision_decides_what_is_kept_and_reads_nothing_again(tmp_path: Path) -> None:
    extract(tmp_path / "s", sources(), precision=0.85)
    assert len(Graph.load(tmp_path / "s")) == 2
    report = extract(tmp_path / "s", sources(), precision=0.5)
    assert report.read == 0
    assert len(Graph.load(tmp_path / "s")) == 3
    # Without a word on it, the store keeps its own.
    extract(tmp_path / "s", sources())
    assert Graph.load(tmp_path / "s").manifest.precision == 0.5


def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="workers is 0"):
        extract(tmp_path / "s", sources(), workers=0)
    with pytest.raises(ConfigError, match="precision is 2"):
        extract(tmp_path / "s", sources(), precision=2.0)
    assert not (tmp_path / "s").exists()
    with pytest.raises(InputError, match=r"corpus/a: two documents of one name"):
        extract(tmp_path / "s", [*sources(), *sources()])
    # What was read before that is kept.
    assert len(Graph.load(tmp_path / "s").documents) == 5


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("near", 1.5, "in [0, 1]"),
        ("floor", -0.1, "in [0, 1]"),
        ("precision", 2.0, "in [0, 1]"),
        ("beams", 0, "at least 1"),
        ("workers", 0, "at least 1"),
        ("threads", 0, "at least 1"),
        ("arithmetic", "fp64", "one of fp32, bf16, int8, auto"),
    ],
)
def test_an_impossible_option_is_refused_where_it_is_given(name: str, value: float | str, rule: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"{name} is {value!r}; it must be {rule}")):
        Extraction(**{name: value})  # pyright: ignore[reportArgumentType]


class Fragile(LineLoader):
    """Loads a reader that one document kills, and another one breaks in a way that nobody foresaw."""

    def __call__(self) -> LineReader:
        reader = super().__call__()
        real = reader.read

        def read(item: Source) -> Found:
            if item.content == "kills" and multiprocessing.parent_process() is not None:
                os._exit(3)
            if item.content in ("kills", "breaks"):
                raise RuntimeError("not foreseen")
            return real(item)

        reader.read = read  # pyright: ignore[reportAttributeAccessIssue]
        return reader


def test_a_document_that_ends_its_process_is_listed_and_asked_again(tmp_path: Path) -> None:
    found = sources(c="kills", d="breaks")
    died = extract_corpus(found, tmp_path / "s", Fragile(), corpus="corpus", model="lines", workers=2)
    assert died.read == 3
    messages = dict(died.failed)
    assert messages["corpus/c"] == "its worker process died (exit code 3)"
    assert messages["corpus/d"] == "cannot be analysed (RuntimeError: not foreseen)"
    alone = extract_corpus(found, tmp_path / "t", Fragile(), corpus="corpus", model="lines")
    assert (alone.read, len(alone.failed)) == (3, 2)
    assert lines(tmp_path / "s") == lines(tmp_path / "t")
    again = extract(tmp_path / "s", found)
    assert (again.unchanged, len(again.failed)) == (3, 2)


@pytest.mark.slow
def test_killed_twice_no_finished_document_is_lost_or_doubled(tmp_path: Path) -> None:
    done = kill_and_resume(tmp_path, 2, documents=40)
    assert done.during >= 1
    assert (done.lost, done.doubled, done.again) == (0, 0, 0)
    assert done.identical
