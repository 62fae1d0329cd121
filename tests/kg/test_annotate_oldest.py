"""Annotations in a tree that must run on a Python which cannot evaluate all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.main import main
from weft.kg.annotate.oldest import newer_than, oldest_python

SOURCE = """\
def load(path):
    if not path:
        return None
    return 3


def name():
    return "x"
"""
PROJECT = '[project]\nname = "x"\nrequires-python = "{}"\n'


@pytest.mark.parametrize(
    ("file", "text", "oldest"),
    [
        ("pyproject.toml", PROJECT.format(">=3.8"), (3, 8)),
        ("pyproject.toml", PROJECT.format("<4,>=3.10.2"), (3, 10)),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^2.7 || ^3.6"\n', (2, 7)),
        ("pyproject.toml", PROJECT.format("<4"), None),
        ("pyproject.toml", "[project", None),
        ("setup.cfg", "[options]\npython_requires = >=3.7, !=3.8.*\n", (3, 7)),
        ("setup.cfg", "[metadata]\nname = %x\n", None),
        ("setup.py", "setup(name='x', python_requires='~=3.9')\n", (3, 9)),
    ],
)
def test_what_a_tree_requires(tmp_path: Path, file: str, text: str, oldest: tuple[int, int] | None) -> None:
    (tmp_path / "src" / "package").mkdir(parents=True)
    (tmp_path / "src" / "package" / "m.py").write_text(SOURCE)
    (tmp_path / file).write_text(text)
    # The nearest one speaks, whatever stands above it.
    for place in ("", "src/package", "src/package/m.py"):
        assert oldest_python(tmp_path / place) == oldest


def test_the_nearest_project_speaks(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "pyproject.toml").write_text(PROJECT.format(">=3.8"))
    (tmp_path / "inner" / "setup.cfg").write_text("[metadata]\nname = x\n")
    assert oldest_python(tmp_path / "inner") is None
    (tmp_path / "inner" / "setup.py").write_text("setup(python_requires='>=3.9')")
    assert oldest_python(tmp_path / "inner") == (3, 9)


def test_what_a_version_cannot_evaluate() -> None:
    assert newer_than("int | None", (3, 9))
    assert not newer_than("int | None", (3, 10))
    assert newer_than("list[int]", (3, 8))
    assert not newer_than("list[int]", (3, 9))
    assert not newer_than("int", (2, 7))
    assert not newer_than("int | None", None)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_the_oldest_python_cannot_evaluate_is_quoted(tmp_path: Path, workers: str) -> None:
    module, project = tmp_path / "m.py", tmp_path / "pyproject.toml"
    (tmp_path / "other.py").write_text("x = 1\n")
    for oldest, first, written in (
        (">=3.9", "", '"int | None"'),
        (">=3.10", "", "int | None"),
        # Nothing is evaluated.
        (">=3.9", "from __future__ import annotations\n", "int | None"),
    ):
        module.write_text(first + SOURCE)
        project.write_text(PROJECT.format(oldest))
        assert main(["kg", "annotate", str(tmp_path), "--write", "--quiet", "--workers", workers]) == 0
        text = module.read_text()
        assert f") -> {written}:" in text
        assert "def name() -> str:" in text
