"""The table of faults cannot rot: each names one line that is there, another in its place, and tests that exist."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "scripts" / "mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


mutants = load()
FAULTS = mutants.read_table()


@cache
def functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_the_table_is_long_and_names_no_fault_twice():
    assert len(FAULTS) >= 85
    doubled = [
        key
        for key, count in Counter((fault.file, fault.line, fault.fault) for fault in FAULTS).items()
        if count > 1
    ]
    assert not doubled


def test_every_room_has_faults():
    rooms = {fault.file.split("/")[0] for fault in FAULTS}
    assert rooms >= {
        *(
            "absa",
            "attention",
            "bcsd",
            "cli",
            "condition",
            "documents",
            "encoder",
            "graph",
            "kg",
            "objective",
        ),
        *("platform", "train"),
    }


def test_every_fault_is_another_program():
    for fault in FAULTS:
        assert fault.fault.strip() != fault.line.strip(), fault.what
        text = (mutants.SOURCE / fault.file).read_text(encoding="utf-8")
        ast.parse(fault.applied(text), fault.file)


def test_the_named_tests_exist():
    for fault in FAULTS:
        assert fault.tests, fault.what
        for test in fault.tests:
            path, _, function = test.partition("::")
            assert (ROOT / path).exists(), test
            assert not function or function.partition("[")[0] in functions(ROOT / path), test


@pytest.mark.parametrize("line", ["import os", "no such line"])
def test_a_line_that_is_not_there_once_is_named(line):
    fault = mutants.Fault("some/file.py", line, "pass", ("tests",), "a fault")
    with pytest.raises(ValueError, match=r"some/file\.py: [02] lines are"):
        fault.place("import os\nx = 1\nimport os\n")


def test_a_fault_keeps_the_lines_around_it_and_the_indent():
    fault = mutants.Fault("file.py", "return 1", "return 2", ("tests",), "another number")
    assert fault.applied("def f():\n    return 1\n\nx = 1\n") == "def f():\n    return 2\n\nx = 1\n"
