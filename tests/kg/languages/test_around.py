"""What the files beside a single file tell of its types."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.kg.languages.around import around
from weft.kg.languages.python import LANGUAGE

FILES = {
    "shop/__init__.py": "",
    "shop/parts/__init__.py": "",
    "shop/parts/deep.py": "def use(store):\n    return store.find('a')\n",
    "shop/store.py": "class Store:\n    def find(self, key): ...\n",
    "shop/calls.py": "from shop.parts.deep import use\nfrom shop.store import Store\n\nuse(Store())\n",
    "shop/broken.py": "def f(:\n",
    "shop/.hidden/x.py": "from shop.parts.deep import use\nuse(1)\n",
    "beside.py": "from shop.parts.deep import use\nuse('text')\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def given(path: Path, most: int = 400) -> tuple[str, int, dict[str, str]]:
    found = around(path, LANGUAGE, most)
    assert found is not None
    asked = found.tree.open_questions(found.below, LANGUAGE.parse(path.read_text(), str(path)))
    item = next(item for item in asked if item.name == "store")
    return item.head.name, found.files, {clue.kind: clue.name for clue in item.clues}


def test_the_outermost_package_tells(folder: Path) -> None:
    name, files, clues = given(folder / "shop/parts/deep.py")
    assert (name, files) == ("shop.parts.deep.use.store", 6)
    assert clues["given"] == "Store"


def test_a_package_that_is_too_large_gives_way_to_the_one_within(folder: Path) -> None:
    name, files, clues = given(folder / "shop/parts/deep.py", most=3)
    assert (name, files) == ("shop.parts.deep.use.store", 2)
    assert "given" not in clues


def test_a_file_in_no_package_stands_alone(folder: Path) -> None:
    path = folder / "alone.py"
    path.write_text("def use(store): ...\n\nuse(3)\n")
    assert given(path) == ("alone.use.store", 1, {"given": "int"})


def test_facts_extract_and_annotate_of_a_file_ask_with_the_same_clues(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "shop/parts/deep.py"
    assert main(["kg", "facts", str(file), "--json"]) == 0
    listed = {(item["head"], item["relation"]): item for item in json.loads(capsys.readouterr().out)}
    assert listed["store", "has_type"]["tail"] == "Store"
    options = ["--at-least", "0.01", "--workers", "1", "--json", "--quiet"]
    assert main(["kg", "annotate", str(file), *options]) == 0
    annotations = {item["name"]: item for item in json.loads(capsys.readouterr().out)[0]["annotations"]}
    first = annotations["shop.parts.deep.use.store"]["candidates"][0]
    assert first["text"] == "Store"
    assert first["confidence"] == listed["store", "has_type"]["confidence"]
    store = folder / "store"
    assert main(["kg", "extract", str(file), "-o", str(store), "--quiet", "--least-confidence", "0.01"]) == 0
    capsys.readouterr()
    assert main(["kg", "show", str(store), "shop.parts.deep.use.store", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["facts"]
    typed = [item for item in facts if item["relation"] == "has_type"]
    assert [item["tail"] for item in typed] == ["shop.store.Store"]
    assert typed[0]["confidence"] == pytest.approx(first["confidence"], abs=1e-4)
