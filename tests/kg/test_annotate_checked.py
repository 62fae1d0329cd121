"""A checker that stops before it checks says so, or is asked in a way in which it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from weft.errors import WeftError
from weft.kg.annotate.check import checked
from weft.kg.annotate.plan import missing
from weft.kg.annotate.tree import Annotated, Findings
from weft.kg.extraction.inferred import Inferred
from weft.kg.languages.python import LANGUAGE

TEXT = "def half(number):\n    return number / 2\n\n\nhalf(3)\n"


def chosen(place: Path, checker: Literal["pyright", "mypy"]) -> list[str]:
    """What a checker leaves of ``bytes`` and ``float`` for the number that is halved, in each file of a tree."""
    paths = sorted(path.relative_to(place).as_posix() for path in place.rglob("m.py"))
    tree = LANGUAGE.tree(place, paths)
    parsed = LANGUAGE.parse(TEXT, "m.py")
    files = []
    for path in paths:
        tree.add(path, parsed)
        asked = tree.open_questions(path, parsed)
        guesses = (("bytes", 0.9), ("float", 0.85))
        inferred = [Inferred(item, guesses, (0, 1)) for item in asked if item.name == "number"]
        files.append(Annotated(place / path, path, TEXT, missing(path, TEXT, tree, asked, inferred, 0.9)))
    broken = [(str(path), "no Python") for path in place.rglob("broken.py")]
    found = Findings(files, broken)
    checked(found, place, checker, 0.8)
    return [
        best.text for file in found.files for item, best in file.chosen(0.8) if item.asked.name == "number"
    ]


def laid_out(place: Path, *paths: str) -> Path:
    for path in paths:
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(TEXT if path.endswith("m.py") else "", encoding="utf-8")
    return place


def test_mypy_checks_modules_of_one_name_and_packages_whose_folder_has_no_name_of_one(tmp_path: Path) -> None:
    assert chosen(laid_out(tmp_path / "twice", "a/m.py", "b/m.py"), "mypy") == ["float", "float"]
    assert chosen(laid_out(tmp_path / "of-none", "__init__.py", "m.py"), "mypy") == ["float"]


def test_mypy_checks_what_stands_beside_a_broken_file(tmp_path: Path) -> None:
    place = laid_out(tmp_path, "m.py")
    (place / "broken.py").write_text("def f(:\n", encoding="utf-8")
    assert chosen(place, "mypy") == ["float"]
    assert (place / "broken.py").exists()


def test_a_checker_that_checks_nothing_is_an_error(tmp_path: Path) -> None:
    place = laid_out(tmp_path / "mypy", "__init__.py", "not-one/__init__.py", "not-one/m.py")
    with pytest.raises(WeftError, match=r"mypy stopped before it checked: .*not-one .*--check pyright"):
        chosen(place, "mypy")
    place = laid_out(tmp_path / "pyright", "m.py")
    (place / "pyrightconfig.json").write_text('{"exclude": ["**"]}', encoding="utf-8")
    with pytest.raises(WeftError, match="pyright checked no file"):
        chosen(place, "pyright")
