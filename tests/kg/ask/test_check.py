"""Questions with answers, asked of a store and counted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.errors import InputError
from weft.kg.ask.check import ask_all, marks, read_questions
from weft.kg.ask.question import answer
from weft.kg.read.redocred import redocred_schema
from weft.kg.storage.graph import Graph
from weft.kg.storage.layout import Evidence
from weft.kg.storage.writer import create_store, open_writer

QUESTIONS = """
- {ask: Who founded Kestrel Line?, about: [Kestrel Line], relations: [founded_by], answers: [Mads Holm]}
- {ask: Where is Kestrel Line based?, about: [Kestrel Line], relations: [headquarters], answers: [Odense]}
- {ask: Who wrote The Salt Road?, about: [The Salt Road], relations: [author], answers: [Gunnar Ek]}
- {ask: What did Gunnar Ek smoke?, about: [Gunnar Ek], relations: [spouse], answers: [Ida Ek]}
"""
FACTS = (
    ("Kestrel Line", "founded_by", "Mads Holm", 0.9),
    ("Kestrel Line", "headquarters", "Aarhus", 0.7),
    ("The Salt Road", "author", "Gunnar Ek", 0.2),
    ("Gunnar Ek", "spouse", "Ida Ek", 0.6),
)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.yaml"
    path.write_text(QUESTIONS)
    return path


def test_right_wrong_and_silent_are_told_apart(store: Path, questions: Path) -> None:
    found = ask_all(Graph.load(store), read_questions(questions))
    assert [(item.known, item.said, item.right) for item in found] == [
        (True, "Mads Holm", True),
        (False, "Aarhus", False),
        (False, None, False),
        (True, None, False),
    ]
    counted = marks(found)
    assert (counted.asked, counted.known, counted.found, counted.wrong, counted.silent) == (
        4,
        2,
        0.5,
        0.25,
        0.5,
    )


def test_the_command_prints_the_count(
    store: Path, questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["kg", "ask", str(store), "--questions", str(questions)]) == 0
    assert "0.250" in capsys.readouterr().out
    assert main(["kg", "ask", str(store), "--questions", str(questions), "--json", "--at-least", "0.1"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["known"] == 3
    assert record["questions"][2] == {
        "ask": "Who wrote The Salt Road?",
        "known": True,
        "said": "Gunnar Ek",
        "right": True,
    }


def test_a_question_and_a_file_exclude_each_other(store: Path, questions: Path) -> None:
    assert (
        main(["kg", "ask", str(store)])
        == main(["kg", "ask", str(store), "Who?", "--questions", str(questions)])
        == 2
    )


@pytest.mark.parametrize(
    "text", ["{}", "[]", "- 5", "- {ask: Who?}", "- {ask: a, about: b, relations: [], answers: []}"]
)
def test_a_file_that_holds_no_questions_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "none.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match="question"):
        read_questions(path)


def test_kinds_and_shortened_names_of_persons(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    create_store(folder, redocred_schema(), "folded")
    rows = [
        ("Rufus Seaman Carter", "place_of_birth", "31 March 1866", 0.6, "TIME"),
        ("Rufus Seaman Carter", "place_of_birth", "Amherst", 0.5, "LOC"),
        ("Ida May Holm", "place_of_birth", "Lund", 0.5, "LOC"),
        ("Ida Ek Holm", "place_of_birth", "Malmö", 0.5, "LOC"),
    ]
    with open_writer(folder) as writer:
        places = [
            Evidence(head, name, tail, sure, 0, 4, 0, 9, 1, "…", head_kind="PER", tail_kind=kind)
            for head, name, tail, sure, kind in rows
        ]
        writer.put("one", "c", "00", "m", places)
        writer.finish()
    graph = Graph.load(folder)
    found = answer(graph, "Where was Rufus Carter born?")
    assert [found.name(fact) for fact in found.facts] == ["Amherst"]
    with pytest.raises(InputError, match="no name"):
        answer(graph, "Where was Ida Holm born?")


def test_no_questions_have_no_marks() -> None:
    with pytest.raises(InputError, match="no questions"):
        marks([])


def test_where_nothing_is_known_no_share_of_it_is_told(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.yaml"
    path.write_text(QUESTIONS.splitlines()[2])
    assert main(["kg", "ask", str(store), "--questions", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["found"] is None
    assert main(["kg", "ask", str(store), "--questions", str(path)]) == 0
    assert "answered rightly      –" in capsys.readouterr().out


def test_names_that_were_merged_are_known(store: Path, questions: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(store, tmp_path / "copy"))
    with open_writer(copied) as writer:
        writer.merge("Kestrel", "Kestrel Line")
        writer.merge("Mads", "Mads Holm")
        writer.finish()
    graph = Graph.load(copied)
    assert graph.entity("Mads Holm") == "Mads"
    found = ask_all(graph, read_questions(questions))[0]
    assert (found.known, found.said, found.right) == (True, "Mads", True)


def test_a_relation_that_the_store_lacks_is_refused(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(QUESTIONS.replace("[author]", "[autor]"))
    assert main(["kg", "ask", str(store), "--questions", str(path)]) == 3
    said = "question 'Who wrote The Salt Road?': the store has no relation 'autor' (did you mean author?)"
    assert said in capsys.readouterr().err
