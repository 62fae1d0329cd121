"""What is annotated runs as before: Python evaluates an annotation where the ``def`` stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.kg.annotate.plan import missing
from weft.kg.annotate.write import annotated
from weft.kg.extraction.inferred import Inferred
from weft.kg.languages.python import LANGUAGE

SOURCE = """import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING
from threading import Lock, Thread

if TYPE_CHECKING:
    from email.message import Message

try:
    from email.header import Header
except ImportError:
    Header = None


def above(tree, thread, lock, message=None, things=None): ...


@print
class Tree:
    class Leaf:
        pass

    def __init__(self, tree, leaf):
        self.first = self.Leaf()
        self.below = Tree if tree else None

    def copy(self):
        return Tree(None, None)

    def none(self, tree=None, thread=None, lock=None, header=None): ...


def below(tree, number: int = 0, tree_too=None): ...
"""
GUESSES = {
    "tree": "Tree",
    "tree_too": "Tree",
    "leaf": "Leaf",
    "thread": "Thread",
    "lock": "Lock",
    "message": "Message",
    "header": "Header",
    "things": "Iterable",
}


def test_names_that_are_not_there_yet_are_quoted() -> None:
    parsed = LANGUAGE.parse(SOURCE, "m.py")
    tree = LANGUAGE.tree(Path("nowhere"), ["m.py"])
    assert tree is not None
    tree.add("m.py", parsed)
    asked = [*tree.open_questions("m.py", parsed), *tree.open_attributes("m.py", parsed)]
    answers = [Inferred(item, ((GUESSES[item.name], 1.0),), (0, 1)) for item in asked if item.name in GUESSES]
    found = missing("m.py", SOURCE, tree, asked, answers, 0.9)
    chosen = [(item, item.candidates[0]) for item in found if item.candidates]
    text = annotated(SOURCE, chosen, "m.py")
    written = [line.strip() for line in text.splitlines() if line not in SOURCE.splitlines()]
    assert written == [
        'def above(tree: "Tree", thread: Thread, lock: Lock, message: "Message | None" = None, '
        'things: "Iterable | None" = None): ...',
        # No module has a Leaf: nothing can be imported for it.
        'def __init__(self, tree: "Tree", leaf) -> None:',
        'def copy(self) -> "Tree":',
        'def none(self, tree: "Tree | None" = None, thread: "Thread | None" = None, lock: "Lock | None" = None, '
        'header: "Header | None" = None): ...',
        "def below(tree: Tree, number: int = 0, tree_too: Tree | None = None): ...",
    ]
    exec(compile(text.replace("@print\n", ""), "m.py", "exec"), {})


ROUTES = """
from fastapi import APIRouter

routes = APIRouter()


class Item: ...


@routes.get("/item")
def item(name, limit=10):
    return Item()


@routes.get("/count")
def count(name):
    return 3


def plain(name):
    return Item()


class Rows:
    @property
    def first(self):
        return Item()
"""


@pytest.mark.parametrize("framework", ["fastapi", "flask"])
def test_what_a_framework_goes_by_is_plain_and_built_in_or_not_written(framework: str) -> None:
    source = ROUTES.replace("fastapi", framework)
    parsed = LANGUAGE.parse(source, "m.py")
    tree = LANGUAGE.tree(Path("nowhere"), ["m.py"])
    assert tree is not None
    tree.add("m.py", parsed)
    asked = tree.open_questions("m.py", parsed)
    answers = [Inferred(item, (("str", 1.0),), (0, 1)) for item in asked if item.name == "name"]
    found = missing("m.py", source, tree, asked, answers, 0.9)
    chosen = [(item, best) for item in found if (best := item.best(0.8)) is not None]
    written = [
        line.strip() for line in annotated(source, chosen, "m.py").splitlines() if " def " in f" {line}"
    ]
    routes = ["def item(name, limit=10):", "def count(name) -> int:"]
    if framework == "flask":
        routes = ["def item(name: str, limit=10) -> Item:", "def count(name: str) -> int:"]
    assert written == [*routes, "def plain(name: str) -> Item:", "def first(self) -> Item:"]


IMPORTED = """import array
import datetime
import glob
import time
import datetime as dt


def whole(moment, clock, values, paths, moment_too=None): ...


class Day:
    datetime = None

    def later(self, moment, clock): ...
"""
HELD = {"moment": "datetime", "moment_too": "datetime", "clock": "time", "values": "array", "paths": "glob"}


def _guessed(source: str, guesses: dict[str, str]) -> str:
    parsed = LANGUAGE.parse(source, "m.py")
    tree = LANGUAGE.tree(Path("nowhere"), ["m.py"])
    assert tree is not None
    tree.add("m.py", parsed)
    asked = tree.open_questions("m.py", parsed)
    answers = [Inferred(item, ((guesses[item.name], 1.0),), (0, 1)) for item in asked if item.name in guesses]
    found = missing("m.py", source, tree, asked, answers, 0.9)
    chosen = [(item, item.candidates[0]) for item in found if item.candidates]
    return annotated(source, chosen, "m.py")


def test_a_module_is_no_type_and_its_class_is_written_by_way_of_it() -> None:
    text = _guessed(IMPORTED, HELD)
    assert [line.strip() for line in text.splitlines() if line not in IMPORTED.splitlines()] == [
        # Of glob nobody knows a class.
        "def whole(moment: datetime.datetime, clock: datetime.time, values: array.array, paths, "
        'moment_too: "datetime.datetime | None" = None): ...',
        # In the body of the class one of the module's two names is another thing.
        "def later(self, moment, clock: dt.time): ...",
    ]
    exec(compile(text, "m.py", "exec"), {})
    alone = "import time\n\n\ndef f(clock): ...\n"
    assert _guessed(alone, HELD) == alone
    renamed = alone.replace("import time", "import datetime as time")
    assert _guessed(renamed, HELD) == renamed.replace("clock", "clock: time.time")


DIVIDED = """def ratio(a, b): return a / b
def percent(a, b): return 100 * (a / b)
def least(a, b): return -a / b if b else 0
def either(a, b):
    if not b:
        return 0
    return (a / b) or 1
def whole(a, b): return a // b
def rounded(a, b): return round(a / b)
def outer(a, b):
    def inner(): return a / b
    return a * b
"""


def test_a_division_gives_no_whole_number() -> None:
    names = ("ratio", "percent", "least", "either", "whole", "rounded", "outer", "inner")
    text = _guessed(DIVIDED, dict.fromkeys(names, "int"))
    written = [line.strip() for line in text.splitlines() if " -> int" in line]
    assert written == [
        "def whole(a, b) -> int: return a // b",
        "def rounded(a, b) -> int: return round(a / b)",
        "def outer(a, b) -> int:",
    ]
    assert _guessed(DIVIDED, {"ratio": "float"}) == DIVIDED.replace("ratio(a, b):", "ratio(a, b) -> float:")


EQUAL = """class Day:
    def __eq__(self, other): return self.day == other.day
    def __ne__(self, other): return not self == other
    def __lt__(self, other): return self.day < other.day
"""


def test_what_is_compared_with_may_be_any_object() -> None:
    text = _guessed(EQUAL, {"other": "Day"})
    assert [line.strip().partition(": return")[0] for line in text.splitlines()[1:]] == [
        "def __eq__(self, other) -> bool",
        "def __ne__(self, other) -> bool",
        'def __lt__(self, other: "Day") -> bool',
    ]
