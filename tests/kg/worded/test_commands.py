"""`weft kg extract --relation` and `weft kg judge --by-words`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.kg.evaluate.confidence import FILE
from weft.kg.storage.graph import Graph
from weft.platform.models import find_model

ASKED = "acquired by: the company head was bought by the company tail"
TEXT = "Volvo bought Ekdahl Motors in 1999. Volvo is a company in Gothenburg, Sweden."


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text(TEXT)
    return tmp_path / "texts"


def test_facts_of_a_relation_by_words_are_marked(
    texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    assert main(["kg", "extract", str(texts), "-o", store]) == 0
    assert "by words" not in capsys.readouterr().err
    assert main(["kg", "extract", str(texts), "-o", store, "--relation", ASKED]) == 0
    assert "never trained" in capsys.readouterr().err
    graph = Graph.load(tmp_path / "store")
    facts = {(fact.head, fact.relation, fact.tail): fact for fact in graph.facts("Volvo")}
    assert facts["Ekdahl Motors", "acquired by", "Volvo"].origin == "words"
    assert facts["Volvo", "country", "Sweden"].origin == "model"
    assert {"acquired by"} == {fact.relation for fact in facts.values() if fact.origin == "words"}
    assert main(["kg", "show", store, "Volvo"]) == 0
    shown = capsys.readouterr().out.splitlines()
    marked = [line for line in shown if line.endswith("(a relation by words)")]
    assert marked
    assert all("acquired by" in line for line in marked)
    assert any("country Sweden" in line for line in shown)
    known = dict(
        zip(*(graph.relations[name].to_pylist() for name in ("relation", "definition")), strict=True)
    )
    assert known["acquired by"] == ASKED.partition(": ")[2]
    inferred = Graph.load(tmp_path / "store", only="inferred")
    assert len(inferred) == len(graph)
    assert (
        main(["kg", "query", store, "SELECT ?t WHERE { ?f weft:origin 'words' ; rdf:object ?t }", "--json"])
        == 0
    )
    assert "Volvo" in capsys.readouterr().out
    # Without being asked again, the documents are read as they were before.
    assert main(["kg", "extract", str(texts), "-o", store]) == 0
    assert not [fact for fact in Graph.load(tmp_path / "store").facts("Volvo") if fact.origin == "words"]


def test_another_definition_of_a_known_name_is_an_error(
    texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    assert main(["kg", "extract", str(texts), "-o", store, "--relation", ASKED]) == 0
    other = "acquired by: the tail took the head over"
    capsys.readouterr()
    assert main(["kg", "extract", str(texts), "-o", store, "--relation", other]) != 0
    assert "another definition" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("raised in", "no colon"),
        ("raised in:", "no definition"),
        ("spouse: the head married the tail", "learnt"),
    ],
)
def test_bad_words(
    said: str, wrong: str, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kg", "extract", str(texts), "-o", str(tmp_path / "store"), "--relation", said]) == 2
    assert wrong in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_models_that_take_none(texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model"
    shutil.copytree(find_model("kg", "kg-text-small"), model)
    record = json.loads((model / FILE).read_text())
    del record["worded"]
    (model / FILE).write_text(json.dumps(record))
    asked = ["-o", str(tmp_path / "store"), "--relation", ASKED]
    assert main(["kg", "extract", str(texts), "--model", str(model), *asked]) == 2
    assert "no confidence for them" in capsys.readouterr().err
    assert main(["kg", "extract", str(texts), "--model", "kg-python-small", *asked]) == 2
    assert "source code" in capsys.readouterr().err


def test_what_words_are_worth_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    towns = [
        "Lyon",
        "Oslo",
        "Turin",
        "Ghent",
        "Porto",
        "Basel",
        "Cork",
        "Malmo",
        "Graz",
        "Brno",
        "Split",
        "Bergen",
    ]
    people = ["Anna Berg", "Paul Stone", "Maria Lund", "John Hale", "Eva Holm", "Carl Moor"]
    records = []
    for number in range(24):
        person, town = people[number % 6].split(), towns[number % 12]
        words = [*person, "was", "born", "in", town, "."]
        who = {"name": " ".join(person), "pos": [0, 2], "sent_id": 0, "type": "PER"}
        where = {"name": town, "pos": [5, 6], "sent_id": 0, "type": "LOC"}
        label = {"h": 0, "t": 1, "r": "P19", "evidence": [0]}
        records.append(
            {"title": f"t{number}", "sents": [words], "vertexSet": [[who], [where]], "labels": [label]}
        )
    path = tmp_path / "towns.json"
    path.write_text(json.dumps(records))
    assert main(["kg", "judge", str(path), "--model", "kg-text-small", "--by-words", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[str(path)]
    for score in (found["words"], found["bare_words"]):
        assert score["relations"]["place_of_birth"]["facts"] == 24
        assert score["relations"]["place_of_birth"]["trained"] > 0.8
        assert 0 < score["by_words"] <= 1
    assert main(["kg", "judge", str(path), "--model", "kg-text-small", "--by-words"]) == 0
    assert "F1 by words" in capsys.readouterr().out
    assert (
        main(["kg", "judge", str(path), "--format", "crossre", "--model", "kg-text-small", "--by-words"]) == 2
    )
