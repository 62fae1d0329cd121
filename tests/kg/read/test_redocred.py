"""Re-DocRED: words to text, given mentions and facts, records that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.kg.text_corpus import record, write_corpus

from weft.errors import ConfigError, InputError
from weft.kg.dataset.split import part_of, read_split
from weft.kg.dataset.tables import read_table
from weft.kg.dataset.text import TextBuildConfig, build_redocred
from weft.kg.extraction.text import Met, text_sources
from weft.kg.read.funnel import Funnel
from weft.kg.read.redocred import join_words, read_redocred, redocred_schema
from weft.kg.represent.dataset import load_dataset

EXAMPLES = Path(__file__).parents[3] / "examples" / "kg"
SMALL = TextBuildConfig(roots=64, vocab_size=400, valid_percent=20, test_percent=30)


def test_words_are_joined_as_english_is_written() -> None:
    text, spans, starts = join_words(
        [["He", "(", "Bob", ")", "paid", "$", "3", "."], ["It", "'s", "late", "!"]]
    )
    assert text == "He (Bob) paid $3. It's late!"
    assert [text[a:b] for a, b in spans[0]] == ["He", "(", "Bob", ")", "paid", "$", "3", "."]
    assert [text[a:b] for a, b in spans[1]] == ["It", "'s", "late", "!"]
    assert [text[start:][:2] for start in starts] == ["He", "It"]
    assert join_words([[], ["a"]]) == ("a", [[], [(0, 1)]], [0, 0])


def test_a_document_without_facts_is_read_where_none_are_needed(tmp_path: Path) -> None:
    bare = record(0)
    del bare["labels"]
    path = tmp_path / "test.json"
    path.write_text(json.dumps([bare, record(1)]))
    funnel = Funnel()
    assert [document.id for document in read_redocred(path, funnel)] == ["Document 1"]
    assert funnel.failures == 1
    met = Met()
    assert [source.document for source in text_sources(path, "c", met)] == ["c/Document 0", "c/Document 1"]
    assert met.failures == []


def test_mentions_and_facts(tmp_path: Path) -> None:
    (document,) = read_redocred(write_corpus(tmp_path / "d.json", 1), Funnel())
    assert document.id == "Document 0"
    assert document.text.startswith("Ada Byron was born in Bern. In year 1900")
    found = [(document.text[m.start : m.end], m.entity, m.name, m.type) for m in document.mentions]
    assert found[:3] == [
        ("Ada Byron", 0, "Ada Byron", "PER"),
        ("Bern", 1, "Bern", "LOC"),
        ("Bern", 1, "Bern", "LOC"),
    ]
    assert [tuple(fact) for fact in document.facts] == [(0, "P19", 1), (1, "P17", 2)]


def _without(key: str) -> dict[str, Any]:
    return {name: value for name, value in record(1).items() if name != key}


def test_records_that_are_none_are_listed(tmp_path: Path) -> None:
    far, negative, nobody, before, uncut = record(2), record(3), record(4), record(8), record(9)
    before["vertexSet"][0][0]["sent_id"] = -1
    uncut["sents"] = [" ".join(words) for words in uncut["sents"]]
    far["vertexSet"][0][0]["pos"] = [0, 99]
    negative["vertexSet"][0][0]["pos"] = [-1, 1]
    nobody["labels"][0]["t"] = 9
    empty = {**record(6), "vertexSet": [[]]}
    plain = {"id": "a", "text": "Ada was born."}
    records = [
        record(0),
        _without("sents"),
        far,
        negative,
        nobody,
        "text",
        empty,
        plain,
        record(0),
        record(5),
        {**record(7), "title": " "},
        before,
        uncut,
    ]
    path = tmp_path / "d.json"
    path.write_text(json.dumps(records))
    funnel = build_redocred([path], tmp_path / "out", SMALL)
    assert funnel.failures == 10
    assert [funnel.reasons[item] for item in funnel.listed["documents that cannot be read"]] == [
        ("d.json: document 1", "lacks 'sents'"),
        ("d.json: document 2", "names a word or a sentence that it does not have"),
        ("d.json: document 3", "a mention of words [-1, 1]"),
        ("d.json: document 4", "a fact of entities 0 and 9; there are 4"),
        ("d.json: document 5", "has a value of another form than Re-DocRED's"),
        ("d.json: document 6", "entity 0 has no mention"),
        (
            "d.json: document 7",
            "a text, and no sentences of words (texts go into a .jsonl, an object with a 'text' in each line)",
        ),
        ("d.json: document 10", "an empty title"),
        ("d.json: document 11", "a mention in sentence -1"),
        ("d.json: document 12", "has a value of another form than Re-DocRED's"),
    ]
    assert funnel.listed["documents with an id that another has"] == ["Document 0"]
    assert read_table(tmp_path / "out", "documents")["path"].to_pylist() == ["Document 0", "Document 5"]


def test_the_data_set(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "d.json", 40)
    records = json.loads(path.read_text())
    records[0]["labels"].append({"h": 0, "r": "P9999", "t": 1})
    # An entity far away, and one with a name that no tail can hold.
    records[1]["sents"] += [["word"] * 60, ["Faraway", "x" * 30]]
    records[1]["vertexSet"] += [
        [{"name": "Faraway", "sent_id": 4, "pos": [0, 1], "type": "LOC"}],
        [{"name": "x", "sent_id": 4, "pos": [1, 2], "type": "LOC"}],
    ]
    records[1]["labels"] += [{"h": 0, "r": "P19", "t": 4}, {"h": 4, "r": "P17", "t": 5}]
    path.write_text(json.dumps(records))
    funnel = build_redocred([path], tmp_path / "out", SMALL)
    counts = funnel.counts
    assert counts["facts"] == 82
    assert counts["facts stated in a chunk"] == 80
    assert counts["facts whose entities share no chunk"] == 1
    assert funnel.listed["facts whose relation is not in the schema"] == ["Document 0: P9999"]
    assert funnel.listed["facts whose tail is too long or cannot be spelled"] == ["Document 1: P17 'x'"]
    dataset = load_dataset(tmp_path / "out")
    assert (dataset.corpus.roots, dataset.corpus.leaves) == (64, 7)
    assert counts["triples"] == len(dataset.corpus.relation)
    assert len(read_table(tmp_path / "out", "facts")) == 82
    # A triple's head and tail are what its mentions say.
    mentions = read_table(tmp_path / "out", "mentions").to_pylist()
    names = {(m["chunk"], m["word"]): m["name"] for m in mentions}
    facts = {(m["text"], m["type"]) for m in mentions}
    assert ("Ada Byron", "PER") in facts
    text = dataset.tokenizer.text
    for t in range(len(dataset.corpus.relation)):
        chunk, word = int(dataset.corpus.chunk[t]), int(dataset.corpus.tail_word[t])
        tail = dataset.corpus.tail_ids[t, : dataset.corpus.tail_length[t]].tolist()
        assert text(tail) == names[chunk, word]
    parts = dict(
        zip(
            *(read_table(tmp_path / "out", "documents")[c].to_pylist() for c in ("path", "split")),
            strict=True,
        )
    )
    assert parts == {name: part_of(name, 20, 30) for name in parts}
    assert set(parts.values()) == {"train", "valid", "test"}


def test_a_split_file_decides(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "d.json", 4)
    split = {"Document 0": "test", "Document 1": "valid", "Document 2": "train"}
    funnel = build_redocred([path], tmp_path / "out", SMALL, split=split)
    assert read_table(tmp_path / "out", "documents")["split"].to_pylist() == [
        "test",
        "valid",
        "train",
        "train",
    ]
    assert funnel.listed["documents that the split does not name"] == ["Document 3"]


def test_two_builds_are_equal_byte_for_byte(tmp_path: Path) -> None:
    path = write_corpus(tmp_path / "d.json", 12)
    for name in ("a", "b"):
        build_redocred([path], tmp_path / name, SMALL)
    files = sorted(item.name for item in (tmp_path / "a").iterdir())
    assert "mentions.parquet" in files
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


@pytest.mark.parametrize("text", ["{", "{}", None])
def test_files_that_are_none(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "d.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=r"d.json.*(is not JSON|is not there|Re-DocRED file)"):
        build_redocred([path], tmp_path / "out", SMALL)


def test_no_document_is_left(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text("[]")
    with pytest.raises(InputError, match="no document"):
        build_redocred([tmp_path / "d.json"], tmp_path / "out", SMALL)


@pytest.mark.parametrize(
    "bad",
    [
        {"roots": 7},
        {"roots": 257},
        {"longest_tail": 0},
        {"overlap": 128},
        {"vocab_size": 10},
        {"test_percent": 95},
    ],
)
def test_configurations_that_break_a_rule(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(bad))):
        TextBuildConfig(**bad)


def test_the_schema_knows_every_number() -> None:
    schema = redocred_schema()
    assert schema.size == 97
    ids = schema.ids()
    assert schema.names[ids["P17"]] == "country"
    assert ids["http://www.wikidata.org/prop/direct/P17"] == ids["country"]


def test_the_split_in_the_repository_is_that_of_the_titles() -> None:
    split = read_split(EXAMPLES / "redocred_split.json")
    assert len(split) == 500
    assert all(part == part_of(title, 15, 25) for title, part in split.items())
    assert [list(split.values()).count(part) for part in ("train", "valid", "test")] == [300, 75, 125]


def test_the_real_thing(data: Path, tmp_path: Path) -> None:
    source = data / "redocred" / "dev_revised.json"
    if not source.is_file():
        pytest.skip("no Re-DocRED in the data folder")
    split = read_split(EXAMPLES / "redocred_split.json")
    config = TextBuildConfig(roots=256, longest_tail=12, overlap=64)
    funnel = build_redocred([source], tmp_path, config, split=split)
    counts = funnel.counts
    assert funnel.failures == 0
    assert (counts["documents"], counts["facts"], counts["mentions"]) == (500, 17_284, 13_132)
    assert "documents that the split does not name" not in funnel.listed
    assert "facts whose relation is not in the schema" not in funnel.listed
    assert counts["facts stated in a chunk"] >= 0.95 * counts["facts"]
    documents = {document.id: document for document in read_redocred(source, Funnel())}
    titles = read_table(tmp_path, "documents")["path"].to_pylist()
    mentions: pa.Table = read_table(tmp_path, "mentions")
    for row in mentions.to_pylist():
        assert documents[titles[row["document"]]].text[row["start"] : row["end"]] == row["text"]
    chunks = read_table(tmp_path, "chunks")
    lengths = np.diff(chunks["ids"].combine_chunks().offsets.to_numpy())
    assert lengths.max() <= 256
