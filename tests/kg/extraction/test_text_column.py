"""``--text-column`` names the key of the text in JSON lines, for texts alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli.main import main

SAID = "Peter Lang founded Lang Pumps in Graz in 1990."


def test_tickets_with_another_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tickets = tmp_path / "tickets.jsonl"
    tickets.write_text(json.dumps({"id": "T-1", "description": SAID}) + "\n")
    named = ["--text-column", "description"]
    assert main(["kg", "facts", str(tickets), "--json"]) == 3
    assert "--text-column names one" in capsys.readouterr().err
    assert main(["kg", "facts", str(tickets), "--json", *named]) == 0
    assert {fact["document"] for fact in json.loads(capsys.readouterr().out)} == {"T-1"}
    assert main(["kg", "extract", str(tickets), "-o", str(tmp_path / "store"), "--json", *named]) == 0
    assert json.loads(capsys.readouterr().out)["read"] == 1


@pytest.mark.parametrize("command", ["facts", "extract"])
def test_source_code_has_no_such_column(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    out = ["-o", str(tmp_path / "store")] if command == "extract" else []
    assert main(["kg", command, str(tmp_path / "a.py"), *out, "--text-column", "x"]) == 2
    assert "--text-column is for" in capsys.readouterr().err
