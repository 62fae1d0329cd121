"""`weft kg judge --together`: documents read as one long text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli.main import main

PEOPLE = {"Anna Berg": "Lyon", "Paul Stone": "Oslo", "Maria Lund": "Turin", "John Hale": "Ghent"}


@pytest.fixture
def births(tmp_path: Path) -> Path:
    records = []
    for person, town in PEOPLE.items():
        words = [*person.split(), "was", "born", "in", town, "."]
        who = {"name": person, "pos": [0, 2], "sent_id": 0, "type": "PER"}
        where = {"name": town, "pos": [5, 6], "sent_id": 0, "type": "LOC"}
        label = {"h": 0, "t": 1, "r": "P19", "evidence": [0]}
        records.append({"title": person, "sents": [words], "vertexSet": [[who], [where]], "labels": [label]})
    path = tmp_path / "births.json"
    path.write_text(json.dumps(records))
    return path


def test_documents_are_read_as_one_text(births: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["kg", "judge", str(births), "--model", "kg-text-small"]
    assert main([*command, "--json"]) == 0
    apart = json.loads(capsys.readouterr().out)[str(births)]
    assert apart["facts"]["documents"] == 4
    assert "across" not in apart
    assert main([*command, "--together", "3", "--json"]) == 0
    joined = json.loads(capsys.readouterr().out)[str(births)]
    # Three as one text, and the fourth: each birth is still found, and what else is stated is counted as wrong.
    assert joined["facts"]["documents"] == 2
    assert joined["facts"]["recall"] == apart["facts"]["recall"] == 1
    assert joined["across"] >= 0
    wrong = round(joined["facts"]["stated"] * (1 - joined["facts"]["precision"]))
    assert joined["across"] <= wrong
    assert main([*command, "--together", "3"]) == 0
    assert "between names of two documents" in capsys.readouterr().out


@pytest.mark.parametrize("size", ["0", "-2"])
def test_no_documents_together_are_refused(
    births: Path, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["kg", "judge", str(births), "--model", "kg-text-small", "--together", size]
    assert main(command) == 2
    assert "--together" in capsys.readouterr().err


def test_labelled_texts_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text("[]\n")
    assert main(["kg", "judge", str(path), "--model", "kg-text-small", "--together", "2"]) == 2
    assert "one by one" in capsys.readouterr().err


def test_relations_by_words_are_judged_apart(births: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["kg", "judge", str(births), "--model", "kg-text-small", "--by-words", "--together", "2"]
    assert main(command) == 2
    assert "leave --together out" in capsys.readouterr().err
