"""The command ``weft bench``: rows of several benchmarks, of which some cannot be measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from weft.bench.table import Row
from weft.cli import bench as command
from weft.cli.main import main
from weft.errors import InputError, MissingExtraError

Rows = Callable[[bool], list[Row]]


def measured(quick: bool) -> list[Row]:
    return [Row("speed", "quick" if quick else "whole", "fp32", "ms", 1.0, 2.0, target=1.0)]


def lacking(quick: bool) -> list[Row]:
    raise InputError("is not there", where="data/packages")


def bare(quick: bool) -> list[Row]:
    raise MissingExtraError("angr", "angr")


def broken(quick: bool) -> list[Row]:
    raise KeyError("a fault")


def stopped(quick: bool) -> list[Row]:
    raise KeyboardInterrupt


@pytest.fixture
def benches(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def use(*functions: Rows) -> None:
        table: dict[str, tuple[str, str]] = {}
        for number, rows in enumerate(functions):
            name = f"{rows.__name__}_{number}"
            module = ModuleType(name)
            module.__dict__["rows"] = rows
            monkeypatch.setitem(sys.modules, f"weft.bench.{name}", module)
            table[name] = name, "made up"
        monkeypatch.setattr(command, "BENCHES", table)

    return use


def test_of_all_what_cannot_be_measured_is_told_and_the_others_go_on(
    benches: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benches(measured, lacking, bare, measured)
    out = tmp_path / "rows.json"
    assert main(["bench", "all", "--quick", "--json", "-o", str(out)]) == 9
    said, errors = capsys.readouterr()
    assert [row["variant"] for row in json.loads(said)] == ["quick", "quick"]
    assert json.loads(out.read_text()) == json.loads(said)
    assert errors.splitlines() == [
        "weft bench lacking_1: data/packages: is not there",
        "weft bench bare_2: left out: angr is not installed (pip install '.[angr]' in the checkout)",
        "weft bench: 1 benchmark could not be measured: lacking_1",
    ]


def test_a_benchmark_that_is_asked_for_by_name_has_its_own_error(
    benches: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    benches(lacking, measured)
    assert main(["bench", "lacking_0", "measured_1", "--json"]) == 3
    assert capsys.readouterr() == ("", "weft bench: data/packages: is not there\n")


@pytest.mark.parametrize(("rows", "code"), [(lacking, 3), (broken, 70), (stopped, 130)])
def test_what_was_measured_is_not_lost_with_what_was_not(
    rows: Rows, code: int, benches: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benches(measured, rows)
    out = tmp_path / "log"
    names = ["measured_0", f"{rows.__name__}_1"]
    with out.open("w") as log:
        assert main(["bench", *names, "--json", "-o", f"/dev/fd/{log.fileno()}"]) == code
    said = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in said] == ["speed"]
    assert json.loads(out.read_text()) == said


def test_rows_are_written_before_the_next_benchmark_begins(
    benches: Callable[..., None], tmp_path: Path
) -> None:
    benches(measured, broken)
    out = tmp_path / "rows.json"
    assert main(["bench", "all", "-o", str(out)]) == 70
    assert [row["name"] for row in json.loads(out.read_text())] == ["speed"]


def test_an_output_that_is_no_place_of_its_own_has_one_list(
    benches: Callable[..., None], tmp_path: Path
) -> None:
    benches(measured, measured)
    out = tmp_path / "log"
    with out.open("w") as log:
        assert main(["bench", "all", "--quiet", "-o", f"/dev/fd/{log.fileno()}"]) == 0
    assert len(json.loads(out.read_text())) == 2


def test_nothing_measured_is_an_empty_list(benches: Callable[..., None], tmp_path: Path) -> None:
    benches(lacking)
    assert main(["bench", "all", "-o", str(tmp_path / "rows.json")]) == 9
    assert json.loads((tmp_path / "rows.json").read_text()) == []


def test_what_lies_in_the_sources_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lief")
    from weft.bench.bcsd.extraction import hostile, starts, tables

    monkeypatch.chdir(tmp_path)
    assert starts._CONFIG.is_file()
    assert tables._CONFIG.is_file()
    assert hostile._MADE.is_dir()
