"""Reading text: what comes in, and what is counted and listed instead of stopping the run."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.errors import InputError
from weft.kg.dataset.split import part_of, read_split
from weft.kg.extraction.code import CodeCorpus
from weft.kg.extraction.extract import extract
from weft.kg.extraction.model import model_for
from weft.kg.extraction.text import Met, text_sources
from weft.kg.languages import find_language
from weft.kg.read.corpus import OTHERS, read_corpus
from weft.kg.read.documents import TextDocument, without_repeats
from weft.kg.read.funnel import Funnel
from weft.kg.schema import Relation, Schema
from weft.kg.storage.graph import Graph
from weft.kg.storage.writer import create_store


def test_a_folder_of_text(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.rst").write_bytes("\ufeffZwei\r\n".encode())
    (tmp_path / "one.txt").write_bytes(b"One\x00.")
    (tmp_path / "wide.txt").write_bytes("Weit".encode("utf-16"))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    funnel = Funnel()
    found = {document.id: document.text for document in read_corpus([tmp_path], funnel)}
    # Every character stays: marks, line ends, NUL.
    assert found == {"b/two.rst": "\ufeffZwei\r\n", "one.txt": "One\x00.", "wide.txt": "Weit"}
    assert funnel.failures == 0


def test_a_notebook_is_told_and_what_makes_a_text_or_python_of_it(tmp_path: Path) -> None:
    notebook = tmp_path / "load.ipynb"
    notebook.write_text('{\n "cells": [],\n "metadata": {},\n "nbformat": 4,\n "nbformat_minor": 5\n}\n')
    with pytest.raises(InputError, match=r"a Jupyter notebook .*--to markdown.*--to script"):
        model_for(notebook)
    funnel = Funnel()
    assert list(read_corpus([notebook], funnel)) == []
    assert funnel.failures == 1
    (source,) = CodeCorpus(notebook, "load.ipynb", find_language("python"))
    assert source.failure == "a Jupyter notebook: `jupyter nbconvert --to script` makes Python of it"


def test_links_hidden_folders_and_other_peoples(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    for below in (".git/a.txt", "node_modules/b/README.md", "lib/site-packages/c.txt", ".d.txt", "e.txt"):
        (corpus / below).parent.mkdir(parents=True, exist_ok=True)
        (corpus / below).write_text("Words.")
    (tmp_path / "aside").mkdir()
    (tmp_path / "aside" / "f.txt").write_text("Words.")
    (corpus / "folder").symlink_to(tmp_path / "aside")
    (corpus / "file.txt").symlink_to(tmp_path / "aside" / "f.txt")
    (corpus / "broken.txt").symlink_to(tmp_path / "nowhere.txt")
    os.mkfifo(corpus / "pipe.txt")
    funnel = Funnel()
    assert [document.id for document in read_corpus([corpus], funnel)] == ["e.txt", "file.txt"]
    assert funnel.noted[OTHERS] == {"linked folder": 1}
    assert funnel.listed == {
        "files that cannot be read": ["broken.txt: a link that leads nowhere", "pipe.txt: no regular file"]
    }


def test_a_folder_that_may_not_be_opened_is_told_and_may_hold_what_it_held(
    tmp_path: Path, close: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, store = tmp_path / "corpus", tmp_path / "store"
    for name in ("a.py", "b/c.py", "gone.py", "one.txt", "b/two.txt"):
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus / name).write_text("x = 1\n")
    command = ["kg", "extract", str(corpus), "-o", str(store), "--workers", "1", "--json"]
    assert main(command) == 0
    (corpus / "gone.py").unlink()
    close(corpus / "b")
    met = Met()
    assert [source.document for source in text_sources(corpus, "corpus", met)] == ["corpus/one.txt"]
    assert met.failures == [("b", "cannot be read: Permission denied")]
    assert met.may_hold("corpus/b/two.txt")
    capsys.readouterr()
    assert main([*command, "--prune"]) == 9
    report = json.loads(capsys.readouterr().out)
    assert report["failed"] == [["corpus/b", "cannot be read: Permission denied"]]
    assert report["gone"] == ["corpus/gone.py"]
    assert set(Graph.load(store).documents["document"].to_pylist()) == {"corpus/a.py", "corpus/b/c.py"}
    close(corpus)
    with pytest.raises(InputError, match=r"corpus: cannot be read: Permission denied"):
        list(read_corpus([corpus], Funnel()))
    with pytest.raises(InputError, match=r"corpus: cannot be read: Permission denied"):
        CodeCorpus(corpus, "corpus", find_language("python"))


@pytest.mark.parametrize("name", ["lines.jsonl", "LINES.JSONL"])
def test_a_file_of_lines_that_cannot_be_read_may_hold_any_document(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(tmp_path / "nowhere")
    met = Met()
    assert not list(text_sources(tmp_path, "corpus", met))
    assert met.failures == [(name, "a link that leads nowhere")]
    assert met.may_hold("corpus/any")


def test_links_and_pipes_of_a_language_are_told_and_read_again(tmp_path: Path) -> None:
    (tmp_path / "aside").mkdir()
    corpus = tmp_path / "corpus"
    (corpus / ".hidden").mkdir(parents=True)
    (corpus / "good.py").write_text("x = 1\n")
    (corpus / "broken.py").symlink_to(tmp_path / "nowhere.py")
    (corpus / ".#two.py").symlink_to("me@host.1:2")
    (corpus / "round.py").symlink_to(corpus / "round.py")
    (corpus / "folder").symlink_to(tmp_path / "aside")
    (corpus / ".link").symlink_to(tmp_path / "aside")
    os.mkfifo(corpus / "pipe.py")
    found = CodeCorpus(corpus, "corpus", find_language("python"))
    assert {source.document: source.failure for source in found} == {
        "corpus/broken.py": "a link that leads nowhere",
        "corpus/good.py": "",
        "corpus/pipe.py": "no regular file",
        "corpus/round.py": "a link that leads in a circle",
    }
    assert found.others == {"linked folder": 1}


PAGE = "<html><head><meta charset={}></head><body><p>Zürich – “Limmat”</p></body></html>"


@pytest.mark.parametrize(
    ("written", "declared"),
    [("utf-8", "iso-8859-1"), ("cp1252", "windows-1252"), ("cp1252", "'ISO-8859-1'"), ("utf-16", "utf-8")],
)
def test_a_page_in_the_encoding_that_it_declares(tmp_path: Path, written: str, declared: str) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(PAGE.format(declared).encode(written))
    assert [document.text for document in read_corpus([page], Funnel())] == ["Zürich – “Limmat”"]


@pytest.mark.parametrize("declared", ["klingon", "shift_jis", "utf-8", "undefined"])
def test_a_page_in_another_encoding_than_it_declares(tmp_path: Path, declared: str) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(PAGE.format(declared).encode("cp1252"))
    funnel = Funnel()
    assert list(read_corpus([page], funnel)) == []
    assert f"neither UTF-8 nor {declared}, as it says" in funnel.listed["files that cannot be read"][0]


def test_what_lies_in_a_store_below_is_not_met(tmp_path: Path) -> None:
    create_store(tmp_path / "graphs" / "store", Schema((Relation("knows", "of two persons"),)))
    (tmp_path / "graphs" / "store" / "index").mkdir()
    (tmp_path / "graphs" / "store" / "index" / "000012.log").write_bytes(b"x")
    (tmp_path / "graphs" / "table.csv").write_text("a,b")
    (tmp_path / "plug-in").mkdir()
    (tmp_path / "plug-in" / "manifest.json").write_text('{"version": 3}')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    (tmp_path / "one.txt").write_text("One.")
    funnel = Funnel()
    assert [document.id for document in read_corpus([tmp_path], funnel)] == ["one.txt"]
    assert funnel.noted[OTHERS] == {".csv": 1, ".json": 2}
    (tmp_path / "one.py").write_text("x = 1\n")
    assert CodeCorpus(tmp_path, "corpus", find_language("python")).others == {
        ".csv": 1,
        ".json": 2,
        ".txt": 1,
    }
    with pytest.raises(InputError, match=r"no text and no file of python in it, but 1 \.csv \("):
        model_for(tmp_path / "graphs")


def test_what_cannot_be_read_is_listed_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "good.txt").write_text("Fine.")
    lines = [
        json.dumps({"id": "a", "text": "First."}),
        '{"id": "b", "text": "cut o',
        "[1, 2]",
        json.dumps({"id": "c"}),
        "",
        json.dumps({"id": "a", "text": "Again."}),
        json.dumps({"text": "No id."}),
        json.dumps({"id": 7, "text": "A number."}),
        json.dumps({"id": "half", "text": "\ud800"}),
        json.dumps({"id": "caf\ud83d", "text": "Ada."}),
        json.dumps({"text": "Ada.", "mentions": [{"start": 0, "end": 3, "entity": "\ud83d"}]}),
        json.dumps({"id": ["x"], "text": "A list."}),
        json.dumps({"id": "good.txt", "text": "Like a file."}),
    ]
    (tmp_path / "many.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "raw.jsonl").write_bytes(b'{"id": "r", "text": "\xff"}\n')
    funnel = Funnel()
    kept = without_repeats(read_corpus([tmp_path], funnel), funnel)
    assert [document.id for document in kept] == ["good.txt", "a", "many.jsonl:7", "7"]
    assert funnel.listed["files that cannot be read"] == [
        "bad.txt: not UTF-8: unexpected end of data at byte 3 (convert it, as `iconv -f windows-1252 -t utf-8` does)"
    ]
    assert funnel.listed["empty documents"] == ["empty.txt"]
    assert funnel.listed["documents with an id that another has"] == ["a", "good.txt"]
    broken = [line.split(": ")[0] for line in funnel.listed["lines that cannot be read"]]
    assert broken == [f"many.jsonl:{number}" for number in (2, 3, 4, 9, 10, 11, 12)] + ["raw.jsonl:1"]
    assert funnel.failures == 9
    assert funnel.counts["lines"] == 13


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_a_text_in_wide_letters_without_a_mark_is_not_read_as_utf_8(tmp_path: Path, encoding: str) -> None:
    for name in ("a.txt", "b.html", "c.jsonl"):
        (tmp_path / name).write_bytes("Ada was born in Rome.".encode(encoding))
    funnel = Funnel()
    assert list(read_corpus([tmp_path], funnel)) == []
    assert "a.txt: no text: full of zero bytes" in funnel.listed["files that cannot be read"][0]
    assert funnel.failures == 3


def test_mentions_given_in_jsonl(tmp_path: Path) -> None:
    mentions = [
        {"start": 0, "end": 5, "entity": "Paris, France", "type": "city"},
        {"start": 9, "end": 14},
        {"start": 0, "end": 5, "entity": None, "type": None},
        {"start": 9, "end": 14, "entity": " "},
        {"start": 9, "end": 99},
        {"start": 5, "end": 5},
        {"start": "0", "end": 5},
        "Paris",
    ]
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"id": "d", "text": "Paris or Paris", "mentions": mentions}))
    funnel = Funnel()
    (document,) = read_corpus([path], funnel)
    assert [(m.start, m.end, m.entity, m.name, m.type) for m in document.mentions] == [
        (0, 5, 0, "Paris, France", "city"),
        (9, 14, 1, "Paris", ""),
        (0, 5, 1, "Paris", ""),
        (9, 14, 1, "Paris", ""),
    ]
    assert funnel.counts["mentions outside their text"] == 4


def test_mentions_of_other_programs_in_jsonl(tmp_path: Path) -> None:
    mentions = [
        {"start": 0, "end": 5, "label": "LOC", "entity": 7},
        {"start": 0, "end": 5, "entity": {"id": "Q90"}},
        {"start": 0, "end": 5, "type": ["city"]},
        {"start": 9, "end": 14, "entity": True, "label": "LOC"},
    ]
    path = tmp_path / "d.jsonl"
    lines = [{"id": "d", "text": "Paris or Paris", "mentions": mentions}, {"id": True, "text": "Paris"}]
    path.write_text("\n".join(map(json.dumps, lines)))
    funnel = Funnel()
    (document,) = read_corpus([path], funnel)
    assert [(m.start, m.name, m.type) for m in document.mentions] == [(0, "7", "")]
    assert funnel.counts["mentions whose name or type is no text"] == 3
    assert funnel.noted["fields of mentions that are not read"] == {"label": 1}
    assert "d.jsonl:2: an 'id' that is no string" in funnel.listed["lines that cannot be read"][0]


def test_what_is_null_in_jsonl_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"id": None, "text": "Paris", "mentions": None}))
    assert list(read_corpus([path], Funnel())) == [TextDocument("d.jsonl:1", "Paris")]


def test_an_empty_id_names_nothing_and_the_line_stands_for_it(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text("".join(json.dumps({"id": name, "text": "Paris"}) + "\n" for name in ("", " \n", 0)))
    assert [document.id for document in read_corpus([path], Funnel())] == ["d.jsonl:1", "d.jsonl:2", "0"]


def test_no_such_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        list(read_corpus([tmp_path / "absent"], Funnel()))


@pytest.mark.parametrize("name", ["round.txt", "round.py"])
@pytest.mark.parametrize(("leads", "why"), [("{}", "in a circle"), ("nowhere", "nowhere")])
def test_a_link_that_leads_to_no_place_says_where_it_leads(
    tmp_path: Path, name: str, leads: str, why: str
) -> None:
    link = tmp_path / name
    link.symlink_to(leads.format(name))
    told = f"{name}: a link that leads {why}"
    with pytest.raises(InputError, match=told):
        list(read_corpus([link], Funnel()))
    with pytest.raises(InputError, match=told):
        extract(link, tmp_path / "store")
    with pytest.raises(InputError, match=told):
        CodeCorpus(link, "corpus", find_language("python"))
    funnel = Funnel()
    assert not list(read_corpus([tmp_path], funnel))
    assert funnel.listed.get("files that cannot be read", [told]) == [told]


def test_a_split_file(tmp_path: Path) -> None:
    path = tmp_path / "split.json"
    path.write_text('{"train": ["a"], "test": ["b"]}')
    assert read_split(path) == {"a": "train", "b": "test"}
    for text, message in [
        ("[", "is not JSON"),
        ('{"dev": []}', "train, valid, test"),
        ('{"train": "a"}', "no list"),
        ('{"train": ["a"], "test": ["a"]}', "twice"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_split(path)


def test_parts_depend_on_the_id_alone() -> None:
    parts = [part_of(f"document {number}", 15, 25) for number in range(2000)]
    assert parts == [part_of(f"document {number}", 15, 25) for number in range(2000)]
    assert 0.22 < parts.count("test") / 2000 < 0.28
    assert 0.12 < parts.count("valid") / 2000 < 0.18
    # Text, unlike modules, is not split at a full stop.
    assert len({part_of(f"Dr. {number}", 30, 30) for number in range(50)}) == 3
    assert {part_of(f"document {number}", 0, 0) for number in range(1000)} == {"train"}
    assert {part_of(f"document {number}", 0, 100) for number in range(1000)} == {"test"}


def test_a_name_that_is_no_utf_8_is_read_and_can_be_written(tmp_path: Path) -> None:
    odd = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / odd).write_text("Ada.", encoding="utf-8")
    (tmp_path / os.fsdecode(b"x.\xe9")).write_text("Ada.", encoding="utf-8")
    funnel = Funnel()
    for place in (tmp_path, tmp_path / odd):
        assert [document.id for document in read_corpus([place], funnel)] == ["caf\\xe9.txt"]
    assert dict(funnel.noted[OTHERS]) == {".\\xe9": 1}


KOVACS = "Kovács founded Łódź Motor."


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            KOVACS.encode("utf-16-le"),
            "UTF-16 without its mark (convert it, as `iconv -f utf-16le",
        ),
        (
            KOVACS.encode("utf-16-be"),
            "UTF-16 without its mark (convert it, as `iconv -f utf-16be",
        ),
        (bytes(range(128, 256)) + b"\0", "no text, but a program"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\xff\xfe\x03\0>\0\x01\0\0\0\xf0", "no text, but a program"),
        (
            "Kovács".encode("latin-1"),
            "not UTF-8: invalid continuation byte at byte 3 (convert",
        ),
    ],
)
def test_what_bytes_are_that_are_no_utf8(tmp_path: Path, data: bytes, told: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    funnel = Funnel()
    assert list(read_corpus([tmp_path], funnel)) == []
    (listed,) = funnel.listed["files that cannot be read"]
    assert listed.startswith(f"a.txt: {told}")


def test_the_key_of_the_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": 7, "description": "Ida.", "text": 5}\n{"body": "Bo."}\n{"n": 1}\n'
    )
    funnel = Funnel()
    read = read_corpus([tmp_path], funnel, text_column="description")
    assert [(item.id, item.text) for item in read] == [("7", "Ida.")]
    assert funnel.listed["lines that cannot be read"] == [
        "a.jsonl:2: not an object that has 'description' (it has the texts 'body'; --text-column names one)",
        "a.jsonl:3: not an object that has 'description'",
    ]
    funnel = Funnel()
    assert list(read_corpus([tmp_path], funnel, text_column="descripton")) == []
    assert "(did you mean 'description'? it has" in funnel.listed["lines that cannot be read"][0]
