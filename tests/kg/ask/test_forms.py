"""Questions in other forms: passive, whether, of mothers and fathers, with words that are names as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.errors import InputError
from weft.kg.ask.question import answer
from weft.kg.languages.python import LANGUAGE
from weft.kg.storage.graph import Graph
from weft.kg.storage.writer import create_store

FACTS = (
    ("Kestrel Line", "founded_by", "Mads Holm", 0.9),
    ("Kestrel Line", "owned_by", "Gull Group", 0.9),
    ("Odense", "located_in", "Denmark", 0.9),
    ("Denmark", "capital", "Aarhus", 0.9),
    ("Denmark", "located_in", "Scandinavia", 0.9),
    ("Mads Holm", "child", "Nils Holm", 0.9),
    ("Karin Ek", "child", "Nils Holm", 0.5),
    ("Nils Holm", "mother", "Karin Ek", 0.1),
    ("Bo Sand", "child", "Ida Sand", 0.9),
    ("Ann Sand", "child", "Ida Sand", 0.5),
    ("Ida Sand", "father", "Bo Sand", 0.2),
    ("Olaf Lund", "child", "Pia Lund", 0.9),
    ("The Salt Road", "author", "Karin Ek", 0.9),
    ("Regatta", "participant", "Karin Ek", 0.9),
    ("president", "employer", "Regatta", 0.9),
    ("Valdora", "head_of_state", "Anselm Rook", 0.9),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("By whom was Kestrel Line founded?", ["Mads Holm"]),
        ("Kestrel Line was founded by whom?", ["Mads Holm"]),
        ("Kestrel Line was founded by WHOM?", ["Mads Holm"]),
        ("Which city is the capital of Denmark?", ["Aarhus"]),
        ("Who is the mother of Nils Holm?", ["Karin Ek"]),
        ("Who is Nils Holm's father?", ["Mads Holm"]),
        ("Who are the parents of Nils Holm?", ["Mads Holm", "Karin Ek"]),
        ("Who is the mother of Ida Sand?", ["Ann Sand"]),
        ("Who is the mother of Pia Lund?", ["Olaf Lund"]),
        ("What is in Denmark?", ["Odense"]),
        ("What is Denmark?", []),
        ("Who is The Salt Road by?", ["Karin Ek"]),
        ("Who is the president of Valdora?", ["Anselm Rook"]),
        ("Did Mads Holm have children?", ["Nils Holm"]),
    ],
)
def test_forms(store: Path, question: str, expected: list[str]) -> None:
    found = answer(Graph.load(store), question)
    assert [found.name(fact) for fact in found.facts] == expected


@pytest.mark.parametrize(
    "question",
    ["Does Kestrel Line own Gull Group?", "Was Mads Holm born in Aarhus?", "Is Karin Ek Nils Holm's mother?"],
)
def test_whether_two_names_belong_together_is_not_asked(store: Path, question: str) -> None:
    """The other name would be passed over, and the answer read as a yes."""
    with pytest.raises(InputError, match="asks whether something is so"):
        answer(Graph.load(store), question)


def test_who_somebody_is_asks_for_no_relation(store: Path) -> None:
    with pytest.raises(InputError, match="which is no relation of the store"):
        answer(Graph.load(store), "Who is Karin Ek?")


def test_a_store_of_code_is_not_asked_in_words(tmp_path: Path) -> None:
    create_store(tmp_path / "code", LANGUAGE.schema)
    with pytest.raises(InputError, match="holds source code") as error:
        answer(Graph.load(tmp_path / "code"), "What does load raise?")
    assert error.value.hint == "`weft kg show` and `weft kg query` read it"
