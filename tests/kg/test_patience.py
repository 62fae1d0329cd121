"""``weft kg facts`` and ``extract`` say what they read where that takes its time, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from weft.cli.kg import extract, facts
from weft.cli.main import main
from weft.cli.patience import reminding
from weft.kg.extraction import extract as extraction
from weft.kg.extraction import text
from weft.kg.extraction.corpus import Report
from weft.kg.storage.graph import Graph


def test_a_long_text_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("Ida.")
    monkeypatch.setattr(text, "marked_documents", lambda *_: time.sleep(0.2) or [])
    assert main(["kg", "facts", str(tmp_path / "a.txt")]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(facts, "PATIENCE", 0.01)
    assert main(["kg", "facts", str(tmp_path / "a.txt")]) == 0
    assert (
        capsys.readouterr().err == f"weft kg facts: reading {tmp_path / 'a.txt'}; long texts take minutes\n"
    )
    assert main(["kg", "facts", str(tmp_path / "a.txt"), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_wait_is_told_again_after_twice_the_time_and_not_where_something_else_was_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with reminding(lambda: "waiting", 0.05):
        time.sleep(0.6)
    # After .05, .15 and .35 seconds; at one pace it would be twelve times.
    assert 2 <= capsys.readouterr().err.count("waiting\n") <= 5
    with reminding(lambda: "waiting", 0.3) as heard:
        for _ in range(8):
            heard()
            time.sleep(0.05)
    assert capsys.readouterr().err == ""
    with reminding(lambda: "waiting", 0.01, quiet=True):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_extract_tells_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def slow(*_: object) -> Report:
        time.sleep(0.15)
        return Report()

    monkeypatch.setattr(extraction, "extract", slow)
    monkeypatch.setattr(Graph, "load", lambda _: None)
    monkeypatch.setattr(extract, "_print", lambda *_: None)
    monkeypatch.setattr(extract, "_check_threads", lambda _: None)
    command = ["kg", "extract", str(tmp_path), "-o", str(tmp_path / "store")]
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(extract, "PATIENCE", 0.1)
    assert main(command) == 0
    assert set(capsys.readouterr().err.splitlines()) == {
        f"weft kg extract: reading {tmp_path}, 0 documents so far; long texts take minutes, and of a document nothing "
        "is kept before all of it is read"
    }
    assert main([*command, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
