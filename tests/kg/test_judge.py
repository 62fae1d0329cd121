"""What ``weft kg judge`` prints where nothing is sure enough to be judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.kg.evaluate.raw import score_raw


def test_a_figure_that_is_not_defined_is_null_and_a_dash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lab.yaml"
    path.write_text("- {id: a, text: Nothing is said of anyone.}\n", encoding="utf-8")
    command = ["kg", "judge", str(path), "--model", "kg-text-small"]
    assert main([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert record[str(path)]["texts"]["surely_right"] is None
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "nan" not in printed
    assert [line.split() for line in printed.splitlines() if "0.80 sure" in line] == [
        ["facts,", "at", "least", "0.80", "sure", "–"]
    ]


def test_facts_of_no_document_have_no_precision_of_sure_ones() -> None:
    record = score_raw([], []).record()
    assert (record["sure_precision"], record["calibration_error"]) == (None, None)
    assert record["recall"] == 0
