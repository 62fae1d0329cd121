"""What a question is about: last names, names in small or plain letters, firms beside their short names."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.main import main
from weft.errors import InputError
from weft.kg.ask.question import answer
from weft.kg.read.redocred import redocred_schema
from weft.kg.storage.graph import Graph
from weft.kg.storage.layout import Evidence
from weft.kg.storage.writer import create_store, open_writer

FACTS = (
    ("Ewa Zielińska", "place_of_birth", "Łódź", "PER", "LOC"),
    ("Ewa Zielińska", "date_of_death", "1990", "PER", "TIME"),
    ("Ivan Orlov", "employer", "Orbel Systems Inc.", "PER", "ORG"),
    ("Mary Ann Holm", "place_of_birth", "Lund", "PER", "LOC"),
    ("Ida Ek", "child", "Bo Ek", "PER", "PER"),
    ("Orbel Systems Inc.", "founded_by", "Ida Ek", "ORG", "PER"),
    ("Orbel", "founded_by", "Bo Ek", "ORG", "PER"),
    ("Orbel", "headquarters", "Lund", "ORG", "LOC"),
    ("Tin Lantern", "inception", "1979", "ORG", "TIME"),
    ("Ivan Orlov", "member_of", "Tin Lantern", "PER", "ORG"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names") / "store"
    create_store(folder, redocred_schema(), "folded")
    with open_writer(folder) as writer:
        places = [
            Evidence(head, name, tail, 0.9, 0, 4, 0, 9, 1, "…", head_kind=kind, tail_kind=other)
            for head, name, tail, kind, other in FACTS
        ]
        writer.put("one", "c", "00", "m", places)
        writer.finish()
    return folder


@pytest.mark.parametrize(
    ("question", "entity", "expected"),
    [
        ("Where was Zielińska born?", "Ewa Zielińska", ["Łódź"]),
        ("Who is Orlov's employer?", "Ivan Orlov", ["Orbel Systems Inc."]),
        ("Who hired General Orlov?", "Ivan Orlov", ["Orbel Systems Inc."]),
        ("where was mary holm born", "Mary Ann Holm", ["Lund"]),
        ("Where was Ewa Zielinska born?", "Ewa Zielińska", ["Łódź"]),
        ("Who was born in Lodz?", "Łódź", ["Ewa Zielińska"]),
        ("In what year did Ewa Zielińska die?", "Ewa Zielińska", ["1990"]),
        ("Who founded Orbel Systems?", "Orbel Systems Inc.", ["Ida Ek"]),
        ("Who founded Orbel?", "Orbel", ["Bo Ek"]),
        ("Where are the offices of Orbel now?", "Orbel", ["Lund"]),
        ("When did Tin Lantern form?", "Tin Lantern", ["1979"]),
        ("Who was in Tin Lantern?", "Tin Lantern", ["Ivan Orlov"]),
    ],
)
def test_names(store: Path, question: str, entity: str, expected: list[str]) -> None:
    found = answer(Graph.load(store), question)
    assert found.entity == entity
    assert [found.name(fact) for fact in found.facts] == expected


def test_a_last_name_of_several_persons_is_said(store: Path) -> None:
    with pytest.raises(InputError, match="'Ek' is the last name of 2 persons") as error:
        answer(Graph.load(store), "Where was Ek born?")
    assert error.value.hint == "ask of one of them: Bo Ek, Ida Ek"
    for unknown in ("Where was Nils Orlov born?", "Who founded Orlov Works?"):
        with pytest.raises(InputError, match="no name that the store knows"):
            answer(Graph.load(store), unknown)


@pytest.mark.parametrize("question", ["How many children does Ida Ek have?", "How much did Orbel buy?"])
def test_nothing_is_counted(store: Path, question: str) -> None:
    with pytest.raises(InputError, match="how many or how much") as error:
        answer(Graph.load(store), question)
    assert error.value.hint is not None
    assert error.value.hint.startswith("ask who or which they are")


def test_the_command_says_whom_it_took(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kg", "ask", str(store), "Where was Zielińska born?"]) == 0
    assert capsys.readouterr().err == "about Ewa Zielińska\n"
    assert main(["kg", "ask", str(store), "Where was Ewa Zielińska born?"]) == 0
    assert capsys.readouterr().err == ""
