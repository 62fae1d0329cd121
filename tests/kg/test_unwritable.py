"""The commands of graphs on a full disk, and where nothing can be."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.kg.conftest import write_tree
from tests.unwritable import Writes, cases, refused

from weft.cli.main import main
from weft.kg.evaluate import judge
from weft.kg.evaluate.confidence import Confidence
from weft.kg.extraction import entities

SMALL = "--vocab-size 420 --valid-percent 15 --test-percent 25 --no-stubs --quiet"
SETTINGS = """
data: unset
out: unset
model: {hidden_size: 16, layers: 1, heads: 2}
train: {steps: 2, batch_size: 8}
"""
LOCK = r"out/[\w.]*lock$"
FORMATS = {
    "ntriples": "",
    "turtle": "",
    "jsonld": "",
    "graphml": "",
    "jsonl": "",
    "neo4j": None,
    "parquet": None,
}
WRITES = {
    "build": [Writes(f"{{source}} -o {{out}} --language python {SMALL}", old="data_set")],
    "train": [
        Writes(
            "{settings} -o {out} --data {data_set} --device cpu --quiet",
            None,
            r"out(/run(/(lock|log.jsonl))?)?$",
        )
    ],
    "eval": [
        Writes(
            "{data_set} --model {out} --calibrate --limit 6 --device cpu --quiet", "fitted", only_full=True
        )
    ],
    "judge": [
        Writes("{texts} --split {texts} --model {out} --calibrate --device cpu", "fitted", only_full=True)
    ],
    "annotate": [
        Writes("{out} --write --workers 1 --quiet", "source", only_full=True),
        Writes("{source} --stubs {out} --workers 1 --quiet", old=None, stays="out$"),
    ],
    "extract": [Writes("{source} -o {out} --workers 1 --quiet", None, rf"out$|{LOCK}")],
    "show": [Writes("{store} Shape1.grow --html {out}")],
    "export": [Writes(f"{{store}} --format {name} -o {{out}}", old) for name, old in FORMATS.items()],
    "merge": [Writes("{out} module_a.Shape1 module_b.Shape2", "store", LOCK, only_full=True)],
    "unmerge": [Writes("{out} module_a.Shape1 module_b.Shape2", "merged", LOCK, only_full=True)],
    "rm": [Writes("{out} tree/module_a.py", "store", LOCK, only_full=True)],
}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("source") / "tree", ["module_a", "module_b"])


@pytest.fixture(scope="module")
def store(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("store") / "store"
    assert main(["kg", "extract", str(source), "-o", str(place), "--workers", "1", "--quiet"]) == 0
    return place


@pytest.fixture
def merged(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("merged") / "store"
    shutil.copytree(store, place)
    assert main(["kg", "merge", str(place), "module_a.Shape1", "module_b.Shape2"]) == 0
    return place


@pytest.fixture(scope="module")
def data_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    tree = write_tree(folder / "tree", [f"module_{letter}" for letter in "abcdefghijklmnop"])
    arguments = ["kg", "build", str(tree), "-o", str(folder / "data"), "--language", "python", *SMALL.split()]
    assert main(arguments) == 0
    return folder / "data"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("settings") / "train.yaml"
    place.write_text(SETTINGS)
    return place


@pytest.fixture(scope="module")
def fitted(data_set: Path, settings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model") / "model"
    options = ["-o", str(place), "--data", str(data_set), "--device", "cpu", "--quiet"]
    assert main(["kg", "train", str(settings), *options]) == 0
    return place


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As if a model of text had been calibrated."""
    found = SimpleNamespace(confidence=Confidence.fit([("likes", 0.5, True), ("likes", 0.4, False)], []))
    monkeypatch.setattr(entities.EntityExtractor, "load", lambda *_: None)
    monkeypatch.setattr(judge, "calibrated", lambda *_: found)
    return tmp_path / "texts.yaml"


@pytest.mark.parametrize(("name", "writes", "full"), cases(WRITES))
def test_an_output_that_cannot_be_written(
    name: str, writes: Writes, full: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    refused("kg", name, writes, full, request, tmp_path)
