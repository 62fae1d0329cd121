"""``weft kg facts`` says what it reads where that takes its time, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from weft.cli.kg import facts
from weft.cli.main import main
from weft.kg.extraction import text


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
