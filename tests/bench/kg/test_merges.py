"""Names of a tree against jedi: what counts as the same, and what is found wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.bench.kg import merges
from weft.bench.kg.merges import Verdict, verdicts
from weft.errors import InputError

FILES = {
    "toy/__init__.py": "from .shapes import Shape\n",
    "toy/shapes.py": "class Shape:\n    sides = 3\n\n    def area(self):\n        return self.sides\n\n\n"
    "def made():\n    return Shape()\n",
    "toy/use.py": "from toy import Shape\nfrom toy.shapes import made\n\n\nclass Square(Shape):\n"
    "    pass\n\n\ndef run():\n    made()\n    made()\n    return Shape()\n",
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "packages" / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv("WEFT_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.usefixtures("data")
def test_names_are_followed_as_jedi_follows_them() -> None:
    found = verdicts(("toy",), 50)
    assert {"toy.shapes.Shape", "toy.shapes.made"} <= {item.entity for item in found}
    assert [item for item in found if item.agrees is False] == []
    assert any(item.agrees for item in found)
    # Drawn by a hash: the same each time, and fewer of the same.
    assert found == verdicts(("toy",), 50)
    fewer = verdicts(("toy",), 1)
    assert {item.entity for item in fewer} < {item.entity for item in found}


@pytest.mark.usefixtures("data")
def test_a_wrong_merge_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merges, "MEASURED", ("toy",))
    right = list(merges.rows())
    assert [row.ours for row in right] == [0.0]
    real = merges._asked

    def other(script: object, folder: Path, line: int, column: int) -> list[str]:
        return ["toy.shapes.Other" for _ in real(script, folder, line, column)]

    monkeypatch.setattr(merges, "_asked", other)
    assert [row.ours for row in merges.rows()] == [1.0]


def test_what_counts_as_the_same() -> None:
    def agrees(entity: str, *others: str) -> bool | None:
        return Verdict("toy", entity, ("a.py", 1, 0), others).agrees

    assert agrees("a.B.c", "a.B.c")
    assert agrees("a.B.c", "a.B.__init__.c")  # jedi names the method that assigns it
    assert agrees("a.Color.RED", "a.Color")  # and a member by its class
    assert agrees("a.B.c", "x.y", "a.B.c")
    assert agrees("a.B.c", "a.D.c") is False
    assert agrees("a.B.c", "a.B.c.d") is False
    assert agrees("a.B.c") is None


def test_a_package_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_DATA", str(tmp_path))
    with pytest.raises(InputError, match="toy"):
        verdicts(("toy",), 1)
