"""Types of un-annotated code from stubs."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.kg.languages.python.stubs import Typeshed, stub_facts
from weft.kg.languages.python.units import SourceFile

STUB = """
import sys
class A:
    def m(self, a: int, b: str | None = ..., *c: bytes, d: Any = ...) -> list[str]: ...
    if sys.version_info >= (3, 8):
        def n(self) -> int: ...
    else:
        def n(self) -> str: ...
    if sys.version_info >= (4, 0):
        def o(self) -> int: ...
@overload
def p(a: int) -> int: ...
@overload
def p(a: str) -> str: ...
def q(a: float) -> None: ...
"""
SOURCE = """
class A:
    def m(self, a, b=None, *c, d=None): pass
    def n(self): pass
    def o(self): pass
def p(a): pass
def q(a: float): pass
"""


def test_stubs_are_matched_by_name(tmp_path: Path) -> None:
    (tmp_path / "mod.pyi").write_text(STUB)
    stubs = Typeshed(tmp_path).module("mod")
    file = SourceFile(SOURCE)
    found = {(f.head, f.relation, f.tail) for unit in file.units() for f in stub_facts(file, unit, stubs)}
    assert found == {
        ("a", "has_type", "int"),
        ("b", "has_type", "str"),
        ("m", "returns", "list"),
        ("n", "returns", "int"),
        ("q", "returns", "None"),
    }


def test_a_module_without_a_stub(tmp_path: Path) -> None:
    assert Typeshed(tmp_path).module("absent") == {}


def test_the_typeshed_of_mypy() -> None:
    pytest.importorskip("mypy", reason="the typeshed comes with the package mypy")
    stubs = Typeshed()
    assert "dedent" in stubs.module("textwrap")
    assert "JSONDecoder.decode" in stubs.module("json.decoder")
