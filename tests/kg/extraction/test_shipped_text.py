"""The shipped model of text: a folder of texts needs nothing else, and gives the same bytes every time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import weft.demo
from weft.cli.main import main
from weft.errors import CheckpointError, ConfigError, InputError, PartialFailure
from weft.kg.extraction.extract import Extraction, extract
from weft.kg.extraction.facts import Extractor
from weft.kg.extraction.model import CODE_MODEL, TEXT_MODEL, model_for
from weft.kg.storage.graph import Graph
from weft.platform.models import find_model

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


def test_names_of_a_seed_without_types_cost_no_fact(graph: Graph, tmp_path: Path) -> None:
    seed = tmp_path / "seed.csv"
    seed.write_text("head\n" + "\n".join(f'"{name}"' for name in graph.entities) + "\n", encoding="utf-8")
    extract(TEXTS, tmp_path / "store", Extraction(seeds=(seed,), near=None, name="made_up"))
    found, before = (
        {(fact.head, fact.relation, fact.tail) for fact in facts.facts() if fact.confidence > 0.5}
        for facts in (Graph.load(tmp_path / "store"), graph)
    )
    assert len(found & before) > 0.95 * len(before)


def test_a_target_precision_stays_until_it_is_changed_and_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, store = tmp_path / "note.txt", tmp_path / "store"
    text.write_text(
        "Nora Blix was born in Bergen, Norway. She lives in Oslo with Tom Hagen.", encoding="utf-8"
    )
    kept = []
    for options in ((), ("--target-precision", "0.9"), (), ("--target-precision", "0")):
        assert main(["kg", "extract", str(text), "-o", str(store), "--workers", "1", *options]) == 0
        said = capsys.readouterr().out.splitlines()[-1]
        kept.append((len(Graph.load(store)), "(a target precision of 0.9)" in said))
    assert kept[0] == kept[3]
    assert kept[1] == kept[2]
    assert kept[0][0] > kept[1][0]
    assert [told for _, told in kept] == [False, True, True, False]


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


def test_paths_and_relations_may_be_texts_one_or_several(tmp_path: Path) -> None:
    seed = tmp_path / "seed.csv"
    seed.write_text("head,relation,tail\nNora Blix,place_of_birth,Bergen\n")
    text = tmp_path / "a.txt"
    text.write_text("Nora Blix was born in Bergen.")
    said = "came from: the head is of the town tail"
    for options in (Extraction(seeds=str(seed), asked=said), Extraction(seeds=[str(seed)], asked=[said])):
        assert extract(str(text), str(tmp_path / "store"), options).failed == []
    assert extract(text, tmp_path / "store", Extraction(seeds=(seed,), asked=(said,))).unchanged == 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_however_they_end(
    tmp_path: Path, end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(f"One line.{end}{end}Nora Blix was born in Bergen.".encode())
    assert main(["kg", "facts", str(text), "--json"]) == 0
    assert {fact["line"] for fact in json.loads(capsys.readouterr().out)} == {3}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.zip", b"PK\x03\x04\x14\0", "a zip archive: unpack it"),
        ("a.ZIP", b"PK\x03\x04\x14\0", "a zip archive: unpack it"),
        ("a.odt", b"PK\x03\x04\x14\0", "a zip archive, as .odt and .epub are: save it as text"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1", "an older Office document: save it as text"),
        ("a.rtf", b"{\\rtf1 Ida}", "rich text: save it as text"),
        ("a.txt.gz", b"\x1f\x8b\x08\0", "a packed file: unpack it"),
        ("a.bz2", b"BZh91AY&SY\xca", "a packed file: unpack it"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c\0\x04", "an archive: unpack it"),
        ("a.tar", b"a.txt".ljust(257, b"\0") + b"ustar\x0000", "an archive: unpack it"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no text, but a program, a picture or other data"),
    ],
)
def test_what_is_no_text_is_offered_to_no_model(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        model_for(tmp_path / name)
    assert said in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)
    assert "--model" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"Ida was born.", "Ida was born.".encode("utf-16"), b"BZh is no archive", b"Caf\xe9"]
)
def test_a_text_of_another_suffix_is_offered_to_a_model(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.msg").write_bytes(content)
    with pytest.raises(InputError, match=r"cannot tell by \.msg .*--model kg-text-small"):
        model_for(tmp_path / "a.msg")


def test_which_model_reads_what(tmp_path: Path) -> None:
    assert model_for(TEXTS) == TEXT_MODEL
    assert model_for(tmp_path / "note.PDF") == TEXT_MODEL
    assert model_for(tmp_path / "dev.json") == TEXT_MODEL
    assert model_for(tmp_path / "code.py") == CODE_MODEL
    with pytest.raises(InputError, match=r"holds no file.*texts are \.txt"):
        model_for(tmp_path)
    (tmp_path / "mail.msg").write_text("x")
    (tmp_path / "notes").write_text("x")
    (tmp_path / ".hidden").write_text("x")
    assert model_for(tmp_path / "notes") == TEXT_MODEL
    with pytest.raises(InputError, match=r"cannot tell by \.msg .*--model kg-text-small"):
        model_for(tmp_path / "mail.msg")
    with pytest.raises(InputError, match=r"no text and no file of python in it, but 1 \.msg, 1 no suffix"):
        model_for(tmp_path)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "readme.md").write_text("x")
    assert model_for(tmp_path) == TEXT_MODEL
    (tmp_path / "tool.py").write_text("")
    assert model_for(tmp_path) == CODE_MODEL
    (tmp_path / "below" / "more.txt").write_text("x")
    with pytest.raises(
        InputError, match=r"2 texts and 1 file of python.*--model kg-text-small .*--model kg-python"
    ):
        model_for(tmp_path)
    assert main(["kg", "extract", str(tmp_path), "-o", str(tmp_path / "s")]) == InputError.exit_code
    assert not (tmp_path / "s").exists()
    (tmp_path / "pyproject.toml").write_text("")
    assert model_for(tmp_path) == CODE_MODEL
    (tmp_path / "pyproject.toml").unlink()
    # Other people's code, and what is hidden, has no say.
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "tool.py").rename(tmp_path / "node_modules" / "tool.py")
    assert model_for(tmp_path) == TEXT_MODEL


def test_a_model_of_text_is_no_extractor_of_code() -> None:
    with pytest.raises(
        CheckpointError, match="an entity-graph model of text, and one of source code is needed"
    ) as told:
        Extractor.load(find_model("kg", TEXT_MODEL))
    assert str(told.value.where).endswith("kg-text-small")
    with pytest.raises(
        CheckpointError, match=r"'kg-pyton-small': no such model \(did you mean kg-python-small\?\)"
    ):
        Extractor.load("kg-pyton-small")
    assert Extractor.load("kg-python-small").language.name == "python"
    assert "weft.kg.extract, `weft kg extract` and `weft kg facts` read texts with it" in str(told.value)


def test_what_is_of_another_kind_or_language_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "de.txt").write_text("Die Firma wurde von Anna Weber in Berlin gegründet und ist nicht alt.")
    (folder / "en.txt").write_text("The company was founded by Anna Weber in Berlin and is not old.")
    (folder / "latin.txt").write_bytes(b"The caf\xe9 was founded in 1990.")
    (folder / "office.txt").write_bytes(b"PK\x03\x04 and so on")
    (folder / "table.csv").write_text("a,b")
    (folder / ".hidden").write_text("a,b")
    store = str(tmp_path / "store")
    assert (
        main(["kg", "extract", str(folder), "-o", store, "--json", "--workers", "1"])
        == PartialFailure.exit_code
    )
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["others"] == {".csv": 1}
    assert report["foreign"] == [["papers/de.txt", "de"]]
    assert dict(report["failed"]) == {
        "latin.txt": "not UTF-8: invalid continuation byte at byte 7 "
        "(convert it, as `iconv -f windows-1252 -t utf-8` does)",
        "office.txt": "a zip archive, as .odt and .epub are: save it as text, HTML, PDF or .docx",
    }
    assert "1 file of another kind not read: 1 .csv" in err
    assert "1 document seems to be in another language than English" in err
    assert "papers/de.txt (de)" in err
    assert "weft kg extract: 2 documents could not be read" in err
    assert main(["kg", "facts", str(folder / "office.txt")]) == InputError.exit_code
    assert "a zip archive" in capsys.readouterr().err
    assert main(["kg", "facts", str(folder / "de.txt")]) == 0
    assert "another language than English" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "fields", "said"),
    [
        (
            "m.py",
            {"seeds": "x"},
            r"Extraction\.seeds is for a model of text.*\(Extraction\.model kg-text-small",
        ),
        ("m.py", {"near": None}, r"Extraction\.near is for a model of text"),
        ("m.py", {"arithmetic": "bf16"}, r"Extraction\.arithmetic bf16: .*leave Extraction\.arithmetic out"),
        ("a.txt", {"beams": 2}, r"Extraction\.beams is for a model of code"),
        (
            "a.txt",
            {"floor": 0.9},
            r"Extraction\.floor is for a model of code.*Extraction\.precision 0\.9 keeps",
        ),
    ],
)
def test_from_python_an_option_of_the_other_kind_is_called_by_its_field(
    tmp_path: Path, file: str, fields: dict[str, Any], said: str
) -> None:
    (tmp_path / file).write_text("x = 1\n")
    with pytest.raises(ConfigError, match=said) as found:
        extract(tmp_path / file, tmp_path / "store", Extraction(**fields))
    assert "--" not in str(found.value).replace("`weft kg facts --at-least`", "")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("m.py --seed x", "--seed is for a model of text; this one reads source code (--model kg-text-small"),
        ("m.py --near 0.3", "--near is for a model of text"),
        ("m.py --exact", "--exact is for a model of text"),
        (
            "m.py --precision bf16",
            "--precision bf16: a model of code computes in fp32 alone (leave --precision out)",
        ),
        ("a.txt --least-confidence 0.9", "--least-confidence is for a model of code"),
    ],
)
def test_on_the_command_line_it_is_called_by_its_flag(
    tmp_path: Path, line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("m.py", "a.txt"):
        (tmp_path / name).write_text("x = 1\n")
    name, *options = line.split()
    assert main(["kg", "extract", str(tmp_path / name), *options, "-o", str(tmp_path / "store")]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "Extraction" not in shown


def test_special_tokens_that_stand_in_a_text_name_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "Nora Blix was born in [MASK]. [MASK] was founded by Karl Holm in Oslo. [PAD] lies in Norway.\n"
    text += "[UNK] acquired [SEP] in 1999, and Bo Ek lives in [CLS]. The MASK Group is based in Bergen."
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert main(["kg", "facts", str(tmp_path / "a.txt"), "--json"]) == 0
    named = {fact[end] for fact in json.loads(capsys.readouterr().out) for end in ("head", "tail")}
    assert "Oslo" in named
    assert [name for name in named if name.strip("[]") in ("MASK", "PAD", "UNK", "SEP", "CLS")] == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("nothing.txt", ""),
        ("blank.txt", " \n\n"),
        ("front.md", "---\ntitle: Notes\n---\n"),
        ("menu.html", "<html><body><nav>Home</nav></body></html>"),
        ("mail.eml", ""),
    ],
)
def test_a_file_without_prose_is_empty_and_no_failure(tmp_path: Path, name: str, content: str) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / name).write_text(content, encoding="utf-8")
    found = extract(corpus, tmp_path / "store", Extraction(model=TEXT_MODEL, workers=1))
    assert (found.failed, found.empty) == ([], 1)
