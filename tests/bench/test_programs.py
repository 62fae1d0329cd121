"""Benchmarks and scripts outside of the package: what they cannot do is told, and what they print is right."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from weft.absa.use.store import DEFAULT_MODEL, load
from weft.bench import absa
from weft.bench.table import Row

ROOT = Path(__file__).parents[2]


def program(path: str) -> ModuleType:
    """A program as a module of its own name: some stand in two folders."""
    spec = importlib.util.spec_from_file_location(f"program_{Path(path).stem}", ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def test_a_figure_that_is_none_is_a_dash_and_no_verdict(tmp_path: Path) -> None:
    rows = [
        Row("a", "none", "-", "s", 0.0, 0.0, target=1.0),
        Row("a", "met", "-", "s", 1.0, 2.0, target=1.0),
        Row("a", "missed", "-", "s", 1.0, 2.0, "higher", 1.0),
        Row("a", "free", "-", "s", 1.0, 2.0),
    ]
    (tmp_path / "rows.json").write_text(json.dumps([row.record() for row in rows]))
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/table.py"), str(tmp_path / "rows.json")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[2:] == [
        "| a | none | - | s | 0 | 0 | – | ≤ 1 |",
        "| a | met | - | s | 1 | 2 | 0.5 | ≤ 1, met |",
        "| a | missed | - | s | 1 | 2 | 0.5 | ≥ 1, **missed** |",
        "| a | free | - | s | 1 | 2 | 0.5 | – |",
    ]


def test_a_part_that_is_not_there_is_told_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = program("benchmarks/absa_any.py")
    monkeypatch.setattr(module, "parts_of", lambda data: {"everyday (fourth)": None, "hotel": None})
    monkeypatch.setattr(sys, "argv", ["absa_any", "--data", "data", "--part", "everyday (forth)"])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "no part 'everyday (forth)'; there are 'everyday (fourth)', 'hotel'" in said


def test_a_package_that_is_not_there_is_told_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    module = program("benchmarks/bcsd_diff.py")
    monkeypatch.setattr(sys, "argv", ["bcsd_diff", "--only", "opensl", "--work", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 2
    said, errors = capsys.readouterr()
    assert said == ""
    known = {case.source for case in module.cases()}
    assert all(name in errors.splitlines()[-1] for name in (*known, "opensl"))


@pytest.fixture
def identify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("lief")
    module = program("benchmarks/bcsd_identify.py")
    (tmp_path / "packages.json").write_text('{"packages": {}}')
    libraries = [module.Held(f"lib{number}", "1", ("a.a",)) for number in range(4)]
    monkeypatch.setattr(module, "held", lambda index, work: (libraries, []))
    monkeypatch.setattr(module, "part_of", lambda library: "measured")
    monkeypatch.setattr(module, "symbols", lambda archives: ["one", "two"])
    return module


def test_where_nothing_links_the_compiler_s_words_are_told(
    identify: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Any] = []

    def run(command: list[str], **options: Any) -> Any:
        runs.append(command)
        assert len(runs) < 100, "it never ends"
        words = "cannot find -lc\n"
        return SimpleNamespace(
            returncode=1, stdout="", stderr=words if options.get("text") else words.encode()
        )

    monkeypatch.setattr(identify.subprocess, "run", run)
    with pytest.raises(
        SystemExit, match=r"20 programs in a row could not be linked.*cannot find -lc.*--bare"
    ):
        list(identify.programs(tmp_path, tmp_path, "measured", 5, 0, tmp_path))


def test_programs_that_come_to_nothing_now_and_then_are_drawn_again(
    identify: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[Path] = []

    def link(path: Path, *_: object) -> Any:
        tries.append(path)
        return "nothing" if len(tries) % 15 else identify.Program(path, {"lib0": "1"}, ())

    monkeypatch.setattr(identify, "_link", link)
    assert len(list(identify.programs(tmp_path, tmp_path, "measured", 5, 0, tmp_path))) == 5


def test_too_few_libraries_are_told(
    identify: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, _ = identify.held(tmp_path, tmp_path)
    monkeypatch.setattr(identify, "held", lambda index, work: (few[:2], []))
    with pytest.raises(SystemExit, match=r"2 libraries .* 3 are needed"):
        list(identify.programs(tmp_path, tmp_path, "measured", 5, 0, tmp_path))


def test_gradients_of_the_warm_up_are_let_go_before_memory_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run makes them anew: read while they lie there, they would be missing from the peak above it."""
    module = program("benchmarks/gpu.py")
    held, most = 100.0, 0.0
    gradients = 0.0

    def free() -> None:
        nonlocal gradients
        gradients = 0.0

    def run() -> None:
        nonlocal gradients, most
        free()
        gradients = 40.0
        most = max(most, held + gradients + 5.0)

    class Event:
        def __init__(self, enable_timing: bool) -> None:
            pass

        def record(self) -> None:
            pass

        def elapsed_time(self, other: Event) -> float:
            return 1.0

    def nothing() -> None:
        pass

    for name in ("synchronize", "empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, nothing)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: (held + gradients) * 2**20)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: most * 2**20)
    assert module.measure(run, 2, free) == (1.0, 45.0)


def test_a_rate_by_processor_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(absa, "medians", lambda *_, **__: (1.0, 2.0))
    nobody: Any = SimpleNamespace(answer=None)
    row = absa._against_pairs(nobody, nobody, ("price",), 1.0, 1)
    assert "processor time" in row.variant


def test_the_pair_beside_the_shipped_model_can_be_built() -> None:
    """Of its options only how much is read at once is the pair's, too: it has no tagger and no frozen stack."""
    ours = load(DEFAULT_MODEL)
    pair = absa._pair_model(ours)
    assert pair.config.kind == "pair"
    assert pair.config.encoder == ours.config.encoder
    assert pair.config.options.max_length == ours.config.options.max_length
    (row,) = pair.predict(["cheap and quiet"], ["price"])
    assert row.shape == (1, len(ours.classes_))
