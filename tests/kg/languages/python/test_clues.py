"""What a tree tells of types that nobody wrote, and what it does not."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.types.documented import RETURNED, documented

FILES = {
    "shop/__init__.py": "from .store import Store\n",
    "shop/store.py": '''
class Store:
    """Keeps things."""

    def __init__(self, path, size=3):
        self.path = path
        self.size = size

    def find(self, key):
        """Find one.

        Args:
            key (str, optional): Which.
        """
        return [key]

    def close(self):
        raise NotImplementedError


class Memory(Store):
    def close(self):
        return True


class Stock:
    def refill(self): ...
    def drained(self): ...
''',
    "shop/use.py": """
import pathlib
from shop import Store
from .store import Memory

def opened(where):
    return Store(where, size=4)

def run(store, level, name, stock, times):
    stock.refill()
    stock.drained()
    print(times, level)
    return opened(name)

def main(store=None, flag=False):
    place = pathlib.Path("x")
    opened(place)
    opened(f"{place}")
    run(Memory("a"), "low", "n", None, 3)
    run(opened("b"), "high", "n", None, 2.5)
    found = opened("c").find("key")
    return found

class Other:
    def __init__(self):
        self.level = "a"

def again(level): ...
""",
}


def clues(name: str, relation: str = "has_type") -> dict[str, list[str]]:
    tree = LANGUAGE.tree(Path("."), FILES)
    parsed = {path: LANGUAGE.parse(text, path) for path, text in FILES.items()}
    for path, file in parsed.items():
        tree.add(path, file)
    for path, file in parsed.items():
        tree.learn(path, file)
    asked = [item for path, file in parsed.items() for item in tree.open_questions(path, file)]
    item = next(item for item in asked if item.head.name == name and item.relation == relation)
    found: dict[str, list[str]] = {}
    for clue in item.clues:
        assert 0 < clue.share <= 1
        found.setdefault(clue.kind, []).append(clue.name)
    return found


def test_what_is_given_at_calls_is_followed_through_functions_and_constructors() -> None:
    assert clues("shop.use.run.store")["given"] == ["Memory", "Store"]
    assert clues("shop.use.run.level")["given"] == ["str"]
    assert clues("shop.use.run.times")["given"] == ["float", "int"]
    # opened(where) hands its parameter on to Store(path).
    assert clues("shop.store.Store.__init__.path")["given"] == ["str", "Path"]


def test_defaults_count_as_given() -> None:
    assert clues("shop.store.Store.__init__.size")["given"] == ["int"]
    assert clues("shop.use.main.flag")["given"] == ["bool"]


def test_namesakes_and_names_of_classes() -> None:
    assert clues("shop.use.again.level")["namesake"] == ["str"]
    assert clues("shop.use.run.store")["fits"][0] == "Store"


def test_a_class_that_has_all_members_that_are_used_fits() -> None:
    assert clues("shop.use.run.stock")["fits"] == ["Stock"]


def test_docstrings_name_types() -> None:
    assert clues("shop.store.Store.find.key")["documented"] == ["str"]


def test_what_is_returned_and_what_an_overriding_method_returns() -> None:
    assert clues("shop.use.opened", "returns")["given"] == ["Store"]
    assert clues("shop.use.run", "returns")["given"] == ["Store"]
    assert clues("shop.store.Store.close", "returns")["overrides"] == ["bool"]


def test_nothing_is_told_of_what_nobody_uses() -> None:
    assert "given" not in clues("shop.use.again.level")
    assert clues("shop.use.main.store") == {"fits": ["Store"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ":param str name: x\n:type size: int or None\n:rtype: :class:`~a.b.Thing`",
            {"name": "str", "size": "int", RETURNED: "Thing"},
        ),
        (
            "Args:\n    name (list of str): x\n    flag (boolean, optional): y\n\nReturns:\n    dict: z",
            {"name": "list", "flag": "bool", RETURNED: "dict"},
        ),
        (
            "Parameters\n----------\nname : string, default 'a'\n\nReturns\n-------\nout : ndarray\n",
            {"name": "str", RETURNED: "ndarray", "out": "ndarray"},
        ),
        ("Says nothing: at all.\n", {}),
    ],
)
def test_three_styles_of_docstrings(text: str, expected: dict[str, str]) -> None:
    inside = text.replace("\n", "\n    ")
    node = ast.parse(f'def f():\n    """First.\n\n    {inside}\n    """\n').body[0]
    assert isinstance(node, ast.FunctionDef)
    assert documented(node) == expected


MEMBERS = {
    "net/__init__.py": "",
    "net/a.py": """
class Origin:
    def __init__(self, host):
        self.host = host
        self.port = 1

class Proxy(Origin):
    def tunnel(self): ...

class Pool:
    def __init__(self, origin, size):
        self._origin = origin
        self._size = size

    def open(self):
        return self._origin.host, self._origin.port

    @staticmethod
    def still(self, origin):
        self.x = origin
        return self.x.tunnel

def handed(target, other):
    pool = Pool(target, 3)
    return pool

def twice(first):
    return handed(first, None)

def direct(proxy, text):
    proxy.tunnel()
    text.no_class_has_it
""",
}


def members(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    tree = LANGUAGE.tree(Path("."), MEMBERS)
    parsed = {path: LANGUAGE.parse(text, path) for path, text in MEMBERS.items()}
    for path, file in parsed.items():
        tree.add(path, file)
    for path, file in parsed.items():
        tree.learn(path, file)
    asked = [item for path, file in parsed.items() for item in tree.open_questions(path, file)]
    item = next(item for item in asked if item.head.name == f"net.a.{name}")
    return item.used, item.fitting


def test_members_are_followed_into_attributes_and_calls() -> None:
    both = ("host", "port"), ("Origin", "Proxy")
    assert members("Pool.__init__.origin") == both
    assert members("handed.target") == both
    assert members("twice.first") == both
    assert members("direct.proxy") == (("tunnel",), ("Proxy",))


def test_members_that_nothing_reads_or_no_class_has() -> None:
    assert members("Pool.__init__.size") == ((), ())
    assert members("handed.other") == ((), ())
    assert members("direct.text") == (("no_class_has_it",), ())
    # What a static method calls self is no object of the class.
    assert members("Pool.still.origin") == ((), ())
