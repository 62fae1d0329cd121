"""Questions in words: entity, relation and end are found, and what a store does not know is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.errors import InputError
from weft.kg.ask.question import answer, ask_ways
from weft.kg.read.redocred import redocred_schema
from weft.kg.storage.graph import Graph

FACTS = (
    ("Kestrel Line", "founded_by", "Mads Holm", 0.9),
    ("Kestrel Line", "founded_by", "Jesper Holm", 0.8),
    ("Kestrel Line", "headquarters", "Aarhus", 0.7),
    ("Karin Ek", "spouse", "Henrik Sand", 0.9),
    ("Henrik Sand", "spouse", "Karin Ek", 0.6),
    ("Karin Ek", "employer", "Kestrel Line", 0.6),
    ("The Salt Road", "author", "Gunnar Ek", 0.9),
    ("Gunnar Ek", "notable_work", "The Salt Road", 0.5),
    ("Karin Ek", "award_received", "August Prize", 0.4),
    ("Salt", "author", "Nils Holm", 0.9),
    ("Mads Holm", "founded_by", "Karin Ek", 0.9),
    ("Gunnar Ek", "employer", "Aarhus", 0.2),
    ("Tern Technologies, Inc.", "founded_by", "Ida Sand", 0.9),
    ("Gull Group", "founded_by", "Bo Sand", 0.9),
    ("The Linnet Trust", "founded_by", "Cora Fane", 0.9),
    ("The Revd Tamsin Dale", "educated_at", "Durham University", 0.9),
    ("Dr Eva Maria Lund", "educated_at", "Lund University", 0.9),
    ("Gull Ltd", "founded_by", "Ann Sand", 0.9),
    ("Puffin Works Inc.", "founded_by", "Olaf Sand", 0.9),
    ("Yippee!", "founded_by", "Pia Sand", 0.9),
    ("Olaf Sand Jr.", "educated_at", "Aarhus University", 0.9),
    ("Conan O’Hara", "educated_at", "Cork University", 0.9),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who founded Kestrel Line?", ["Mads Holm", "Jesper Holm"]),
        ("who were the founders of kestrel line", ["Mads Holm", "Jesper Holm"]),
        ("Which company did Mads Holm found?", ["Kestrel Line"]),
        ("Where is Kestrel Line based?", ["Aarhus"]),
        ("Who is Karin Ek's husband?", ["Henrik Sand"]),
        ("Who is married to Henrik Sand?", ["Karin Ek"]),
        ("Who works for Kestrel Line?", ["Karin Ek"]),
        ("Who wrote The Salt Road?", ["Gunnar Ek"]),
        ("What did Gunnar Ek write?", ["The Salt Road"]),
        ("Who founded Puffin Works Inc.?", ["Olaf Sand"]),
        ("Who founded Puffin Works Inc?", ["Olaf Sand"]),
        ("Who founded Yippee!?", ["Pia Sand"]),
        ("Who founded Yippee?", ["Pia Sand"]),
        ("Where did Olaf Sand Jr. study?", ["Aarhus University"]),
        ("Where did Conan O'Hara study?", ["Cork University"]),
        ("Who won the August Prize?", ["Karin Ek"]),
        ("Which prize did Karin Ek win?", ["August Prize"]),
        ("Who founded Tern?", ["Ida Sand"]),
        ("Who is Tern Technologies' founder?", ["Ida Sand"]),
        ("Who founded Linnet Trust?", ["Cora Fane"]),
        ("What is Linnet Trust's founder called?", ["Cora Fane"]),
        ("Which university did Tamsin Dale go to?", ["Durham University"]),
        ("Where was Dr Lund educated?", ["Lund University"]),
        ("Where was Eva Lund educated?", ["Lund University"]),
        ("Where was Karin Ek born?", []),
        ("Who are the children of Karin Ek?", []),
    ],
)
def test_questions(store: Path, question: str, expected: list[str]) -> None:
    found = answer(Graph.load(store), question)
    assert [found.name(fact) for fact in found.facts] == expected


def test_what_is_not_sure_enough_is_no_answer(store: Path) -> None:
    graph = Graph.load(store)
    assert answer(graph, "Who is the employer of Gunnar Ek?").facts == ()
    assert [fact.tail for fact in answer(graph, "Who is the employer of Gunnar Ek?", least=0.1).facts] == [
        "Aarhus"
    ]


def test_only_the_end_that_is_asked_for_answers(store: Path) -> None:
    """He founded one and was, says the store, founded by another."""
    graph = Graph.load(store)
    named = [
        [found.name(fact) for fact in found.facts]
        for found in (
            answer(graph, "Which company did Mads Holm found?"),
            answer(graph, "Who founded Mads Holm?"),
        )
    ]
    assert named == [["Kestrel Line"], ["Karin Ek"]]


def test_the_longest_name_is_meant(store: Path) -> None:
    graph = Graph.load(store)
    assert answer(graph, "Who wrote The Salt Road?").entity == "The Salt Road"
    assert answer(graph, "Who wrote Salt?").entity == "Salt"


def test_what_cannot_be_answered_is_said(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Graph.load(store)
    with pytest.raises(InputError, match="no name that the store knows") as error:
        answer(graph, "Who founded Kestral Lines?")
    assert error.value.hint == "near: Kestrel Line"
    for unknown in ("Kestrel", "Gull", "tern", "Tern Labs", "Blue Tern"):
        with pytest.raises(InputError, match="no name that the store knows"):
            answer(graph, f"Who founded {unknown}?")
    with pytest.raises(InputError, match="which is no relation of the store"):
        answer(graph, "How tall is Karin Ek?")
    with pytest.raises(InputError, match="names 'Karin Ek', and asks nothing of it"):
        answer(graph, "Karin Ek")
    for denied in (
        "Who did not found Kestrel Line?",
        "Who didn’t found Kestrel Line?",
        "Who never founded Kestrel Line?",
    ):
        with pytest.raises(InputError, match="asks of 'Kestrel Line' what is not so"):
            answer(graph, denied)
    for option in (("--limit", "0"), ("--at-least", "1.5")):
        assert main(["kg", "ask", str(store), "Who founded Kestrel Line?", *option]) == 2
    for question in ("?", "Where was Karin Ek born?"):
        assert main(["kg", "ask", str(store), question]) == 3
    assert "nothing is known: no fact with place_of_birth" in capsys.readouterr().err
    assert main(["kg", "ask", str(store), "Who is the employer of Gunnar Ek?"]) == 3
    assert "(the surest, 'Aarhus', is 0.20 sure: --at-least)" in capsys.readouterr().err
    assert main(["kg", "ask", str(store), "Who founded Kestrel Line?", "--limit", "1"]) == 0
    assert capsys.readouterr().out == (
        "Mads Holm  (0.90, founded_by)\n    one:1  Kestrel Line founded_by Mads Holm.\n"
    )
    assert main(["kg", "ask", str(store), "Where was Karin Ek born?", "--json"]) == 0
    assert '"answers": []' in capsys.readouterr().out
    assert main(["kg", "ask", str(store), "Who is the spouse of Karin Ek?", "--json"]) == 0
    asked = json.loads(capsys.readouterr().out)["asked"]
    assert sorted(set(asked)) == sorted(asked)
    for question in ("Who flies Kestrel Line?", "Who founded Nobody Knows?"):
        assert main(["kg", "ask", str(store), question, "--json"]) == 3


@pytest.mark.parametrize(
    "words",
    [
        "What did X die of",
        "Of what did X die",
        "What did X die from",
        "What was X killed with",
        "What killed X",
        "How did X die",
        "How was X founded",
        "How did X win the prize",
        "Why did X marry",
        "Why was X founded",
    ],
)
def test_causes_and_ways_are_no_relation(words: str) -> None:
    left = [word for word in words.split() if word != "X"]
    assert ask_ways(left, redocred_schema().names) == []


@pytest.mark.parametrize(
    ("words", "relation"),
    [
        ("Where did X die of cholera", "place_of_death"),
        ("What place did X die in", "place_of_death"),
        ("What is the date of death of X", "date_of_death"),
        ("How old is X", "date_of_birth"),
        ("What was founded by X", "founded_by"),
    ],
)
def test_what_sounds_like_them(words: str, relation: str) -> None:
    left = [word for word in words.split() if word != "X"]
    assert relation in [name for name, _ in ask_ways(left, redocred_schema().names)]


def test_every_phrase_finds_its_own_relation() -> None:
    relations = redocred_schema().names[1:]
    assert ask_ways(["Who", "founded"], relations) == [("founded_by", True)]
    assert ask_ways(["Who", "founded"], ["spouse"]) == []
    assert ("director", True) in ask_ways(["Who", "was", "the", "director", "of"], relations)
