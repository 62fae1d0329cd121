"""What a module states of exceptions, defaults and loops."""

from __future__ import annotations

import pytest

from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.tree import PythonTree


def facts_of(text: str, relation: str) -> set[tuple[str, str]]:
    """Head and tail of a relation."""
    tree = PythonTree(["m.py"])
    tree.add("m.py", LANGUAGE.parse(text, "m.py"))
    found = tree.facts("m.py", LANGUAGE.parse(text, "m.py"))
    return {
        (fact.head.name.removeprefix("m."), fact.tail.name.removeprefix("m."))
        for fact in found
        if fact.relation == relation
    }


def test_an_exception_may_have_a_small_letter() -> None:
    source = """\
import socket
from lib import Error, fault

class timeout(Exception): pass

def one(): raise timeout("x")
def two(): raise socket.timeout
def three(): raise socket.timeout("late")
def four(error): raise error
def five(error: Exception): raise error.with_traceback(None)
def six(): raise Error.of(1)
def seven():
    error = Error()
    raise error.again()
def eight(): raise fault
def nine(): raise KeyError
"""
    assert facts_of(source, "raises") == {
        ("one", "timeout"),
        ("two", "socket.timeout"),
        ("three", "socket.timeout"),
        ("nine", "builtins.KeyError"),
    }


def test_a_default_may_have_a_sign() -> None:
    source = "def f(a=-1, b=1, c=-0.5, d=~0, e=not 1, g=-limit): pass\n"
    assert facts_of(source, "has_default") == {("f.a", "-1"), ("f.b", "1"), ("f.c", "-0.5"), ("f.d", "~0")}


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("for x in a", {("x", "a")}),
        ("for x, y in a", {("x", "a"), ("y", "a")}),
        ("for x, y in zip(a, b)", {("x", "a"), ("y", "b")}),
        ("for x, y in zip(a, b, strict=True)", {("x", "a"), ("y", "b")}),
        ("for x, (y, z) in zip(a, b)", {("x", "a"), ("y", "b"), ("z", "b")}),
        ("for x in zip(a)", set()),
        ("for x in zip(a, b)", set()),
        ("for x, y in zip(*a)", set()),
        ("for x, *y in zip(a, b)", set()),
        ("for x, y in enumerate(a)", {("y", "a")}),
        ("for x, y in enumerate(a, 1)", {("y", "a")}),
        ("for x, y in enumerate(sorted(a))", {("y", "a")}),
        ("for x, (y, z) in enumerate(zip(a, b))", {("y", "a"), ("z", "b")}),
        ("for x in enumerate(a)", set()),
        ("for x, y in sorted(a.items())", {("x", "a"), ("y", "a")}),
        ("for x, y in reversed(list(zip(a, b)))", {("x", "a"), ("y", "b")}),
    ],
)
def test_what_a_loop_gives(loop: str, found: set[tuple[str, str]]) -> None:
    expected = {(f"f.{head}", f"f.{tail}") for head, tail in found}
    assert facts_of(f"def f(a, b):\n    {loop}: pass\n", "element_of") == expected


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("for x in pkgutil.iter_modules(path)", "pkgutil.iter_modules"),
        ("for x in itertools.count()", "itertools.count"),
        ("for x in more.path.parts('a')", "os.path.parts"),
        ("for x in sorted(pkgutil.iter_modules(path))", "pkgutil.iter_modules"),
        ("for x, y in enumerate(itertools.count())", "itertools.count"),
        ("for x, y in os.environ.items()", "os.environ"),
        ("for x in 'a b'.split()", "builtins.str.split"),
        ("for x in Kind.all()", "Kind.all"),
        ("for x in Kind().all()", "Kind.all"),
        ("for x in path.all()", "f.path"),
        ("for x in path.keys()", "f.path"),
        ("for x in path", "f.path"),
        ("for x in os.environ", "os.environ"),
    ],
)
def test_a_loop_runs_over_what_a_function_of_a_module_gives_and_not_over_the_module(
    loop: str, found: str
) -> None:
    source = f"""\
import itertools, os, pkgutil
import os as more
class Kind:
    @classmethod
    def all(cls): ...
def f(path):
    {loop}: pass
"""
    assert {tail for _, tail in facts_of(source, "element_of")} == {found}


def test_a_loop_over_a_function_of_a_module_of_the_tree() -> None:
    tree = PythonTree(["m.py", "rows.py"])
    texts = {"m.py": "import rows\nfor x in rows.all(): pass\n", "rows.py": "def all(): ...\n"}
    for path, text in texts.items():
        tree.add(path, LANGUAGE.parse(text, path))
    found = tree.facts("m.py", LANGUAGE.parse(texts["m.py"], "m.py"))
    assert [fact.tail.name for fact in found if fact.relation == "element_of"] == ["rows.all"]


def test_what_hides_zip_is_not_zip() -> None:
    source = "def zip(*a): ...\ndef f(a, b):\n    for x, y in zip(a, b): pass\n"
    assert facts_of(source, "element_of") == {("f.x", "zip"), ("f.y", "zip")}


def test_what_is_awaited_is_not_what_it_gives() -> None:
    source = (
        "class Call: pass\nasync def f():\n    x = await Call()\n    y = Call()\n    z = await Call().made\n"
    )
    assert facts_of(source, "instance_of") == {("f.y", "Call")}
    assert facts_of(source, "result_of") == {("f.x", "Call"), ("f.y", "Call")}
