"""Text into a store: every span cut out of its document is the name that the fact speaks of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from tests.kg.text_corpus import write_corpus

from weft.cli.main import main
from weft.errors import InputError
from weft.kg.dataset.text import TextBuildConfig, build_redocred
from weft.kg.extraction.corpus import extract_corpus
from weft.kg.extraction.text import Met, TextLoader, text_sources
from weft.kg.learn.text import from_scratch
from weft.kg.read.documents import TextDocument
from weft.kg.read.sentences import sentence_starts, sentences_of
from weft.kg.represent.passages import load_text_dataset
from weft.kg.storage.graph import Graph


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("text") / "towns.json", 12)


@pytest.fixture(scope="module")
def model(corpus: Path) -> Path:
    """An untrained model: it states nearly everything, with a confidence of about a half."""
    data, folder = corpus.parent / "data", corpus.parent / "model"
    build_redocred([corpus], data, TextBuildConfig(vocab_size=400))
    dataset = load_text_dataset(data)
    torch.manual_seed(0)
    from_scratch(dataset, hidden_size=32, layers=1, heads=2, pair_size=16).save(
        folder, dataset.tokenizer.tokenizer
    )
    dataset.schema.save(folder / "schema.json")
    return folder


def test_spans_sentences_and_names(corpus: Path, model: Path, tmp_path: Path) -> None:
    met = Met()
    sources = list(text_sources(corpus, "towns", met))
    assert met == Met()
    report = extract_corpus(sources[:4], tmp_path / "s", TextLoader(model), corpus="towns", model="m")
    assert (report.read, report.failed) == (4, [])
    graph = Graph.load(tmp_path / "s")
    texts = {source.document: source.content for source in sources}
    places = graph.evidence.to_pylist()
    assert len(places) > 20
    for place in places:
        document = texts[place["document"]]
        assert isinstance(document, TextDocument)
        text = document.text
        assert text[place["start"] : place["end"]] == place["head"]
        assert place["chunk_start"] <= place["start"] < place["end"] <= place["chunk_end"]
        assert place["head"] in place["sentence"]
        assert place["tail"] in place["sentence"]
        assert place["line"] == text.count("\n", 0, place["start"]) + 1
    assert {"towns/Document 0", "towns/Document 3"} <= set(graph.documents["document"].to_pylist())
    again = extract_corpus(sources[:5], tmp_path / "s", TextLoader(model), corpus="towns", model="m")
    assert (again.read, again.unchanged) == (1, 4)


def test_a_name_with_a_colon_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "Re: the bridge.txt").write_bytes(b"caf\xe9")
    (tmp_path / "a: b.jsonl").write_bytes(b"[1, 2]\n")
    (tmp_path / "nothing: here.txt").write_text(" ", encoding="utf-8")
    met = Met()
    assert [source.document for source in text_sources(tmp_path, "c", met)] == ["c/nothing: here.txt"]
    assert [(place, why.partition(" (")[0]) for place, why in met.failures] == [
        ("Re: the bridge.txt", "not UTF-8: unexpected end of data at byte 3"),
        ("a: b.jsonl:1", "not an object that has 'text'"),
    ]


def test_plain_text_is_linked_to_the_names_of_a_seed(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, seed = tmp_path / "notes", tmp_path / "seed.csv"
    folder.mkdir()
    (folder / "a.txt").write_text("Bern lies in Switzerland. Nobody else lives there.", encoding="utf-8")
    (folder / "b.txt").write_text("Nothing is named here.", encoding="utf-8")
    (folder / "c.jsonl").write_text(
        json.dumps({"id": "c", "text": "Turin, in Italy"}) + "\n{", encoding="utf-8"
    )
    seed.write_text("head,relation,tail\nBern,country,Switzerland\nTurin,country,Italy\n", encoding="utf-8")
    store = tmp_path / "s"
    command = [
        "kg",
        "extract",
        str(folder),
        "--model",
        str(model),
        "-o",
        str(store),
        "--workers",
        "1",
    ]
    assert main([*command, "--seed", str(seed)]) == 9
    printed = capsys.readouterr()
    assert "not read: c.jsonl:2: is not JSON" in printed.err
    assert "documents: 3 read (1 without a fact)" in printed.out
    assert main(["kg", "show", str(store), "bern", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert {place["sentence"] for fact in facts for place in fact["evidence"]} == {
        "Bern lies in Switzerland."
    }
    # Without names to look for there is nothing to ask about.
    assert main([*command[:-2], "--workers", "1", "-o", str(tmp_path / "none")]) == 9
    assert "3 without a fact" in capsys.readouterr().out
    seed.write_text("head,relation,tail\n", encoding="utf-8")
    with pytest.raises(InputError, match="names no entity"):
        TextLoader(model, (seed,))()


def extract_notes(folder: Path, store: Path, *options: str) -> int:
    return main(["kg", "extract", str(folder), "-o", str(store), "--workers", "1", *options])


def test_what_cannot_be_read_is_not_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, store = tmp_path / "notes", tmp_path / "store"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("Nora Blix was born in Bergen.", encoding="utf-8")
    (folder / "c.jsonl").write_text('{"id": "x", "text": "Bo was born in Oslo."}\n', encoding="utf-8")
    assert extract_notes(folder, store) == 0
    (folder / "a.txt").write_bytes(b"Nora Blix was born in N\xeemes.")
    (folder / "b.txt").unlink()
    capsys.readouterr()
    assert extract_notes(folder, store, "--prune") == 9
    printed = capsys.readouterr()
    assert "not read: a.txt: not UTF-8" in printed.err
    assert "1 document taken out: notes/b.txt" in printed.out
    known = Graph.load(store)
    stated = [place.document for fact in known.facts("Bergen") for place in known.places(fact.row)]
    assert set(stated) == {"notes/a.txt"}
    # A line that cannot be read may be any document of the file.
    (folder / "c.jsonl").write_text('{"id": "x", "text": "Bo was', encoding="utf-8")
    assert extract_notes(folder, store, "--prune") == 9
    printed = capsys.readouterr().out
    assert "taken out" not in printed
    assert "1 document kept as before, for it may be in what cannot be read: notes/x" in printed
    assert "Oslo" in Graph.load(store).entities


def test_a_line_that_cannot_be_read_keeps_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, store = tmp_path / "notes", tmp_path / "store"
    folder.mkdir()
    for name in ("one.txt", "football.txt"):
        (folder / name).write_text("Nora Blix was born in Bergen.", encoding="utf-8")
    for name in ("feed.jsonl", "other.jsonl"):
        (folder / name).write_text('{"text": "Bo was born in Oslo."}\n' * 2, encoding="utf-8")
    (folder / "feed.jsonl").write_text(
        '{"text": "Bo was born in Oslo."}\n' * 2 + "no JSON\n", encoding="utf-8"
    )
    assert extract_notes(folder, store) == 9
    (folder / "football.txt").unlink()
    for name in ("feed.jsonl", "other.jsonl"):
        lines = (folder / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / name).write_text("".join(lines[1:]), encoding="utf-8")
    capsys.readouterr()
    assert extract_notes(folder, store, "--prune", "--json") == 9
    report = json.loads(capsys.readouterr().out)
    assert (report["gone"], report["held"]) == (
        ["notes/football.txt", "notes/other.jsonl:2"],
        ["notes/feed.jsonl:2"],
    )
    # Where ids look like the names of files, a document of such a name may be of a line.
    feed = '{"id": "day.txt", "text": "Bo was born in Oslo."}\nno JSON\n'
    (folder / "feed.jsonl").write_text(feed, encoding="utf-8")
    (folder / "one.txt").unlink()
    assert extract_notes(folder, store, "--prune", "--json") == 9
    report = json.loads(capsys.readouterr().out)
    assert (report["gone"], report["held"]) == (
        [],
        ["notes/feed.jsonl:1", "notes/feed.jsonl:2", "notes/one.txt"],
    )


def test_a_file_of_lines_keeps_what_it_held_whatever_its_ids(tmp_path: Path) -> None:
    (tmp_path / "feed.jsonl").write_text('{"text": "Bo."}\nno JSON\n', encoding="utf-8")
    met = Met()
    assert len(list(text_sources(tmp_path / "feed.jsonl", "feed.jsonl", met))) == 1
    assert met.may_hold("feed.jsonl/a.txt")


def test_a_mention_outside_its_text_spoils_no_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes.jsonl"
    lines = [
        {"id": "a", "text": "Nora Blix was born in Bergen.", "mentions": [{"start": 90, "end": 99}]},
        {"id": "a", "text": "Again."},
    ]
    path.write_text(json.dumps(lines[0]), encoding="utf-8")
    assert extract_notes(path, tmp_path / "store", "--json") == 0
    printed = capsys.readouterr()
    assert "left out: mentions outside their text (1), the first: a: {'start': 90, 'end': 99}" in printed.err
    assert list(json.loads(printed.out)["unused"]) == ["mentions outside their text"]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert extract_notes(path, tmp_path / "store") == 9
    assert "not read: a: an id that another document has" in capsys.readouterr().err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_given_mentions_that_cannot_be_used_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: str
) -> None:
    def mention(start: int, end: int, kind: str) -> dict[str, object]:
        return {"start": start, "end": end, "type": kind}

    given = [mention(0, 9, "PERSON"), mention(0, 4, "PER"), mention(22, 27, "LOC"), mention(23, 28, "LOC")]
    records = [{"id": name, "text": "Nora Blix was born in Bergen.", "mentions": given} for name in "ba"]
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    command = ["kg", "extract", str(path), "-o", str(tmp_path / "store"), "--workers", workers, "--json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["unused"] == {
        "types of mentions that the model does not know": [
            f"{name}: 'PERSON' (the model knows LOC, MISC, NUM, ORG, PER, TIME)" for name in "ab"
        ],
        "mentions that no tokens fit": [
            f"{name}: {said}" for name in "ab" for said in ("'Berge' at 22", "'ergen' at 23")
        ],
        "mentions that overlap another": [f"{name}: 'Nora' at 0" for name in "ab"],
    }
    assert main(["kg", "facts", str(path), "--json"]) == 0
    assert "left out: mentions that overlap another (2), the first: b: 'Nora' at 0" in capsys.readouterr().err


def test_two_corpora_of_one_name_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for year, town in (("2023", "Bergen"), ("2024", "Oslo")):
        (tmp_path / year).mkdir()
        (tmp_path / year / "report.txt").write_text(f"Nora Blix was born in {town}.", encoding="utf-8")
    store = tmp_path / "store"
    assert extract_notes(tmp_path / "2023" / "report.txt", store) == 0
    assert extract_notes(tmp_path / "2023" / "report.txt", store) == 0
    assert "another place" not in capsys.readouterr().err
    assert extract_notes(tmp_path / "2024" / "report.txt", store) == 0
    assert (
        "read from another place before: documents of the same names took the place"
        in capsys.readouterr().err
    )
    assert extract_notes(tmp_path / "2023" / "report.txt", store, "--name", "older", "--json") == 0
    assert json.loads(capsys.readouterr().out)["moved"] is False
    assert {"Bergen", "Oslo"} <= set(Graph.load(store).entities)
    assert str(tmp_path) not in (store / "manifest.json").read_text(encoding="utf-8")


def test_a_seed_says_what_of_it_is_not_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, seed = tmp_path / "a.txt", tmp_path / "seed.csv"
    text.write_text("Nora Blix was born in Bergen.", encoding="utf-8")
    seed.write_text(
        "head;relation;tail\nNora Blix;place_of_birth;Bergen\nNora Blix;met;Bo\nx;y\n", encoding="utf-8"
    )
    told = (
        "left out: seed triples whose relation is not in the schema (1), the first: seed.csv:3: Nora Blix met Bo\n"
        "left out: seed lines that cannot be read (1), the first: seed.csv:4: 'x;y' is no head, relation and tail\n"
    )
    assert extract_notes(text, tmp_path / "store", "--seed", str(seed)) == 0
    assert told in capsys.readouterr().err
    assert main(["kg", "facts", str(text), "--seed", str(seed)]) == 0
    assert told in capsys.readouterr().err
    seed.write_text("head,relation\nx,y\n", encoding="utf-8")
    assert main(["kg", "facts", str(text), "--seed", str(seed)]) == 3
    assert "names no entity of the model's relations: seed.csv:1" in capsys.readouterr().err


def test_the_sentences_of_two_places() -> None:
    text = "Ada was born. She lived in Bern. It rained. Bern is old."
    starts = sentence_starts(text)
    assert sentences_of(text, starts, (0, 3), (4, 7)) == "Ada was born."
    assert sentences_of(text, starts, (14, 17), (0, 3)) == "Ada was born. She lived in Bern."
    assert sentences_of(text, starts, (0, 3), (44, 48)) == "Ada was born. … Bern is old."
    assert sentences_of(text, starts, (52, 56)) == "Bern is old."
    assert len(sentences_of("a" * 1000, (0,), (0, 1))) == 400


def test_what_is_quoted_of_a_long_sentence_shows_the_names() -> None:
    rows = [f"Name{number:03} Surname, Place{number:03}" for number in range(500)]
    text = "\ufeff" + "\n".join(rows)

    def quoted(*names: str) -> str:
        found = sentences_of(
            text, (0,), *((text.index(name), text.index(name) + len(name)) for name in names)
        )
        assert len(found) <= 400
        assert all(name in found for name in names), found
        return found

    assert quoted("Name000", "Place002").startswith("Name000 Surname, Place000\nName001")
    near = quoted("Place250", "Name251")
    assert near.startswith("…")
    assert near.endswith("…")
    assert " … " not in near
    assert quoted("Name001", "Place499").startswith("Name000")
    assert quoted("Place499", "Name001").endswith("Place499")
    assert quoted("Name100", "Place300").count(" … ") == 1
    # Words stay whole, and a name that is longer than all that is quoted is cut.
    assert set(near.strip("…").split()) <= set(text.split())
    assert sentences_of("b " + "a" * 1000, (0,), (2, 1002)) == f"…{'a' * 398}…"


def test_the_sentences_of_a_long_text_are_looked_up_not_counted() -> None:
    class Starts(Sequence[int]):
        asked = 0

        def __len__(self) -> int:
            return 100_000

        def __getitem__(self, number: int) -> int:  # type: ignore[override]
            self.asked += 1
            if not 0 <= number < 100_000:
                raise IndexError(number)
            return number * 10

    starts = Starts()
    assert sentences_of("Ada slept. " * 100_000, starts, (500_003, 500_006), (500_013, 500_016))
    assert starts.asked < 200
