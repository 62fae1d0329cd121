"""Type parameters (PEP 695): known to annotations and bases of what has them, to methods, and to nobody else."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.units import SourceFile

SOURCE = """from other import T, U

class Box{T}(Base[T]):
    def put(self, item: T) -> None:
        mine: T = item

    def map{U}(self, call: U) -> U: ...

def first{T}(one: T) -> T: ...

def plain(x: T, y: U) -> T: ...
"""
STATED = {
    ("m.Box.put.item", "m.Box.T"),
    ("m.Box.put.mine", "m.Box.T"),
    ("m.Box.map.call", "m.Box.map.U"),
    ("m.Box.map", "m.Box.map.U"),
    ("m.first.one", "m.first.T"),
    ("m.first", "m.first.T"),
    ("m.plain.x", "other.T"),
    ("m.plain.y", "other.U"),
    ("m.plain", "other.T"),
}


def stated(file: SourceFile) -> set[tuple[str, str]]:
    tree = LANGUAGE.tree(Path(), ["m.py"])
    tree.add("m.py", file)
    found = tree.facts("m.py", file)
    asked = [item for item in found if item.relation in ("has_type", "returns")]
    return {(item.head.name, item.tail.name) for item in asked} - {("m.Box.put", "None")}


def test_type_parameters_as_every_python_holds_them() -> None:
    file = LANGUAGE.parse(SOURCE.replace("{T}", "").replace("{U}", ""), "m.py")
    parameters = {"Box": "T", "map": "U", "first": "T"}
    for node in ast.walk(file.tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in parameters:
            # Before 3.12 no syntax makes them; what has a name will do.
            node.type_params = [ast.alias(parameters[node.name])]  # pyright: ignore[reportAttributeAccessIssue]
    assert stated(file) == STATED


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no syntax of type parameters before Python 3.12")
def test_type_parameters_as_they_are_written() -> None:
    file = LANGUAGE.parse(SOURCE.replace("{T}", "[T]").replace("{U}", "[U]"), "m.py")
    assert stated(file) == STATED
