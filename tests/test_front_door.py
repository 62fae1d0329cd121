"""The front door for Python: what dir() lists is there, nothing heavy comes unasked, the page's examples run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest

import weft
from weft.errors import ConfigError

ROOT = Path(__file__).parents[1]


def test_import_weft_imports_nothing_heavy():
    code = "import sys, weft\n"
    code += "for tool in (weft, weft.bcsd, weft.kg, weft.absa, weft.attention): assert len(dir(tool)) >= 5\n"
    code += "sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'pyarrow', 'lief')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


ROOMS = ["absa", "attention", "bcsd", "condition", "encoder", "errors", "graph", "kg", "objective", "train"]


@pytest.mark.parametrize("name", ["weft", "weft.bcsd.use.search", *(f"weft.{room}" for room in ROOMS)])
def test_what_is_listed_is_what_is_public_and_is_there(name: str):
    package = import_module(name)
    assert set(dir(package)) == set(package.__all__) - {"__version__"}
    for entry in dir(package):
        assert getattr(package, entry) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


def test_the_verbs_are_functions_whatever_was_imported_before():
    import weft.attention.operation
    import weft.bcsd.matching.match
    import weft.bcsd.use.extract_files
    import weft.kg.extraction.corpus
    import weft.kg.storage.writer

    verbs = (
        weft.bcsd.match,
        weft.bcsd.search,
        weft.bcsd.extract,
        weft.kg.extract,
        weft.kg.store,
        weft.absa.load,
        weft.attention.attend,
    )
    assert all(isinstance(verb, FunctionType) for verb in verbs)


def test_no_public_name_of_a_tool_is_a_module_below_it():
    # Whoever imports weft.kg.store as a module would find the module in the function's place.
    for tool in (getattr(weft, room) for room in ROOMS if room != "errors"):
        folder = Path(str(tool.__file__)).parent
        below = {path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()}
        assert not below & set(dir(tool))


def test_shipped_models_answer_the_same_whatever_torch_makes_by_default():
    import torch

    from weft.bcsd.use.store import load

    asked = (["it is cheap"], ["price"])
    source = "import os\n\ndef f(path: str) -> str:\n    return os.fspath(path)\n"
    told = []
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        try:
            opinions = [weft.absa.load(name).predict(*asked).tolist() for name in ("absa-any", "absa-small")]
            facts = weft.kg.Extractor.load("kg-python-small").facts_of(source, "f.py")
            told.append((opinions, facts, load("bcsd-small").version))
        finally:
            torch.set_default_dtype(torch.float32)
    assert told[0] == told[1]


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    binary = ROOT / "tests" / "bcsd" / "files" / "gcc-O2-x86_64.so"
    shutil.copy(binary, "old.so")
    shutil.copy(binary.with_name("clang-O2-x86_64.so"), "new.so")
    shutil.copy(ROOT / "src" / "weft" / "__main__.py", "module.py")
    scope: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL):
        exec(compile(block, "python.md", "exec"), scope)
    assert scope["answer"] == "negative"
    assert scope["pair"]["a"]["name"]
    assert scope["facts"]
    assert scope["output"].shape == (1, 2, 5, 8)


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"batch_size": -1}, {"beams": 0}])
def test_a_size_that_is_none_is_named(wrong: dict[str, int]):
    # Of a batch of -1 it was said that the file holds nothing to ask about.
    extractor = weft.kg.Extractor.load("kg-python-small")
    ((name, number),) = wrong.items()
    with pytest.raises(ConfigError, match=f"^{name} is {number}; it must be at least 1"):
        extractor.facts_of("def f(a): return a", "f.py", **wrong)
