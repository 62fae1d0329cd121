"""What the benchmarks of extraction and matching count: lifting, done anew, in the process that does it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("lief")

from weft.bcsd.matching.rule import DEFAULT_RULE
from weft.bench.bcsd import match
from weft.bench.bcsd.extraction import known
from weft.platform.processes import Outcome

FILE = Path(__file__).parents[2] / "bcsd" / "files" / "clang-O2-x86_64.so"
BURN = "import time\nwhile time.process_time() < .4: pass\nprint(1, flush=True)\ntime.sleep(60)"


def test_a_file_is_lifted_anew_and_the_lifting_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pypcode")
    from weft.bcsd.lift.apart import process

    monkeypatch.setenv("WEFT_CACHE", str(tmp_path))
    if process._running is not None:
        process._running.stop()
    begun = known.time.process_time()
    used = known.extracted(str(FILE))
    own = known.time.process_time() - begun
    assert used.functions > 10
    # The process that lifts imports its lifter, if nothing else.
    assert used.after - used.before >= own + 0.05
    assert list(tmp_path.rglob("*")) == []


def test_the_busiest_worker_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(work: object, items: list[str], *, workers: int, limits: object) -> Iterator[Outcome[Any, Any]]:
        assert work is known.extracted
        for number, item in enumerate(items):
            worker = number % workers
            seconds = 100.0 * (number // workers + 1)
            yield Outcome(item, known.Used(worker, 0.0, seconds, 1.0, 1), None, 0.0)

    monkeypatch.setattr(known, "run_bounded", run)
    files = [tmp_path / str(number) for number in range(4)]
    for file in files:
        file.touch()
    rows = {row.variant.rpartition(", ")[2]: row for row in known.scaling_rows([str(file) for file in files])}
    assert rows["busiest worker"].ratio == 2.0
    assert "lifting included" in rows["clock"].variant


def test_from_files_to_report_nothing_is_known_before_and_every_process_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    children: list[subprocess.Popen[bytes]] = []

    def read(request: Any) -> list[int]:
        asked.append(request)
        child = subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE)
        children.append(child)
        assert child.stdout is not None
        child.stdout.readline()
        return [1, 2, 3]

    monkeypatch.setattr(match, "read_side", read)
    monkeypatch.setattr(match, "match", lambda *_: None)
    monkeypatch.setattr(match, "report_page", lambda *_: "page")
    try:
        embedder: Any = SimpleNamespace(version="v")
        row = match._time(Path("mbedtls"), embedder, DEFAULT_RULE)
    finally:
        for child in children:
            child.kill()
            child.communicate()
    assert [request.cache for request in asked] == [False, False]
    assert row.ours >= 0.7
    assert "lifting included" in row.variant
