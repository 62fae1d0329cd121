"""The commands of binaries on a full disk, and where nothing can be."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unwritable import Writes, cases, refused

from weft.bcsd.dataset import build
from weft.bcsd.dataset.source import Tree
from weft.bcsd.matching import fit, trial
from weft.bcsd.matching.rule import DEFAULT_RULE
from weft.cli.main import main

SETTINGS = """
data: unset
out: unset
model: {hidden_size: 16, layers: 1, heads: 2, intermediate_size: 32, max_instructions: 24}
sampling: {groups: 4}
train: {steps: 2, learning_rate: 0.005}
tune: false
"""

MODEL = "--model {lexical_model} --quiet"
LOCK = "out/writer.lock$"
WRITES = {
    "extract": [Writes("{binary} -o {out} --quiet --workers 1")],
    "embed": [Writes(f"{{binary}} -o {{out}} --workers 1 --lifter none {MODEL}")],
    "match": [
        Writes(f"{{binary}} {{other}} --html {{out}} --lifter none --device cpu {MODEL}"),
        Writes(
            f"{{binary}} {{other}} --rename ghidra --rename-out {{out}} --lifter none --device cpu {MODEL}"
        ),
    ],
    "diff": [Writes(f"{{binary}} {{other}} --html {{out}} --lifter none --device cpu {MODEL}")],
    "explain": [Writes(f"{{binary}}:checksum {{other}}:checksum --html {{out}} --device cpu {MODEL}")],
    "index add": [
        Writes(f"{{other}} --index {{out}} --lifter none --workers 1 {MODEL}", old="index", stays=LOCK)
    ],
    "index update": [
        Writes(f"--index {{out}} --lifter none --workers 1 {MODEL}", "stale_index", LOCK, only_full=True)
    ],
    "index merge": [Writes("{other_index} --index {out} --quiet", old="index", stays=LOCK)],
    "index rm": [Writes("{binary} --index {out} --quiet", "index", LOCK, only_full=True)],
    "calibrate": [Writes("{lexical_model} --work {lessons} -o {out} --device cpu --quiet")],
    "dataset build": [Writes("{packages} --work {work} -o {out} --quiet --only tested")],
    "dataset join": [Writes("{packages} --work {work} -o {out}")],
    "train": [
        Writes(
            "{settings} -o {out} --data {table} --device cpu --quiet",
            old=None,
            stays=r"out(/run(/(lock|log.jsonl))?)?$",
        )
    ],
}


@pytest.fixture(scope="session")
def binary(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copy(files / "gcc-O2-x86_64.so", tmp_path_factory.mktemp("binary")))


@pytest.fixture(scope="session")
def other(files: Path) -> Path:
    return files / "clang-O2-x86_64.so"


def indexed(binary: Path, model: Path, folder: Path) -> Path:
    """An index of one file."""
    options = ["--model", str(model), "--lifter", "none", "--workers", "1", "--quiet"]
    assert main(["bcsd", "index", "add", str(binary), "--index", str(folder), *options]) == 0
    return folder


@pytest.fixture(scope="session")
def index(binary: Path, lexical_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return indexed(binary, lexical_model, tmp_path_factory.mktemp("index") / "index")


@pytest.fixture(scope="session")
def other_index(other: Path, lexical_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return indexed(other, lexical_model, tmp_path_factory.mktemp("other_index") / "index")


@pytest.fixture
def stale_index(index: Path, binary: Path) -> Path:
    """An index of a file that has changed since."""
    with binary.open("ab") as file:
        file.write(b"\0")
    return index


@pytest.fixture(scope="session")
def table(labelled: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("table") / "functions.parquet"
    pq.write_table(labelled, place)
    return place


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("settings") / "train.yaml"
    place.write_text(SETTINGS)
    return place


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("packages") / "packages.yaml"
    place.write_text(
        "packages: [{name: tested, role: test, min_functions: 5}]\nlevels: [O2]\ntargets: [x86_64]\n"
    )
    return place


@pytest.fixture
def work(
    packages: Path, files: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A work folder in which all is built, of committed files in the place of compiled ones."""

    def compile_build(package, variant, tree, trees, folder, *, jobs):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("library.so", "stripped.so"):
            shutil.copy(files / f"{variant}.so", folder / name)

    monkeypatch.setattr(build, "fetch", lambda package, folder: Tree(folder, "1.0", "abc"))
    monkeypatch.setattr(build, "compile_build", compile_build)
    monkeypatch.setattr(build, "compiler_version", lambda command: f"{command[0]} 1")
    folder = tmp_path_factory.mktemp("work")
    assert main(["bcsd", "dataset", "build", str(packages), "--work", str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture
def lessons(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As if a rule had been fitted to a data set of twenty builds."""
    monkeypatch.setattr(trial, "packages_of", lambda work, role: [work, work])
    monkeypatch.setattr(trial, "built", lambda packages, settings: settings)
    for name in ("trials", "strangers"):
        monkeypatch.setattr(trial, name, lambda *_: [])
    monkeypatch.setattr(fit, "fit_rule", lambda lessons, version: DEFAULT_RULE)
    return tmp_path_factory.mktemp("lessons")


@pytest.mark.parametrize(("name", "writes", "full"), cases(WRITES))
def test_an_output_that_cannot_be_written(
    name: str, writes: Writes, full: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    refused("bcsd", name, writes, full, request, tmp_path)
