"""The demonstration of raw text: facts, answers and a page out of three files."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from weft.demo import texts


def test_three_files_become_a_graph_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    console = Console(record=True, width=130)
    texts.show(console)
    said = console.export_text()
    assert "about.html, ekdahl.md, merger.txt" in said
    assert "Where did Karin Ekdahl study?  Chalmers University" in said
    assert "Kestrel Line" in (tmp_path / texts.PAGE).read_text()
