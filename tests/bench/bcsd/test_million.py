"""The index of a million functions: whole or not there, and of one version of the model."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("lancedb")

from weft.bench.bcsd import million


def test_a_run_that_was_stopped_leaves_nothing_to_go_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    stopped = True

    def make(index: Path, *_: object) -> pa.Table:
        assert not index.exists()
        index.mkdir()
        (index / "rows").write_text("half")
        if stopped:
            raise KeyboardInterrupt
        (index / "rows").write_text("whole")
        made.append(1)
        return pa.table({"number": [7]})

    monkeypatch.setattr(million, "made_index", make)
    monkeypatch.setattr(million, "libraries", list)
    monkeypatch.setenv("WEFT_BCSD_WORK", str(tmp_path))
    measured: list[tuple[Path, Any]] = []
    monkeypatch.setattr(million, "_searches", lambda index, base, total: measured.append((index, base)) or [])
    monkeypatch.setattr(million, "_starts", lambda index, total: [])
    monkeypatch.setattr(million, "embedder_of", lambda *_: SimpleNamespace(version="one"))
    with pytest.raises(KeyboardInterrupt):
        million.rows(True)
    assert list(tmp_path.iterdir()) == []
    stopped = False
    million.rows(True)
    million.rows(True)
    assert len(made) == 1
    for index, base in measured:
        assert (index / "rows").read_text() == "whole"
        assert base["number"].to_pylist() == [7]
    monkeypatch.setattr(million, "embedder_of", lambda *_: SimpleNamespace(version="other"))
    million.rows(True)
    assert len(made) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made-20000-one", "made-20000-other"]
