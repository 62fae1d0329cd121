"""Whose members a name has by its annotation: never those of ``typing``'s own words."""

from __future__ import annotations

import pytest

from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.tree import PythonTree

CLIENT = """\
from typing import Any, ClassVar, Final, Literal, Optional, Self, Type

class Client:
    def send(self): ...
    def dict(self): ...
    def index(self): ...
    @classmethod
    def create(cls): ...
    def same(self, other: Self) -> Self:
        other.dict()
        def inner(more: Optional[Self]):
            more.send()

"""


def facts_of(text: str) -> set[tuple[str, str, str, str]]:
    """Head, relation, tail and its kind, of the calls and types of a source."""
    text = CLIENT + text
    tree = PythonTree(["m.py"])
    tree.add("m.py", LANGUAGE.parse(text, "m.py"))
    found = tree.facts("m.py", LANGUAGE.parse(text, "m.py"))
    return {
        (fact.head.name.removeprefix("m."), fact.relation, fact.tail.name, fact.tail.kind)
        for fact in found
        if fact.relation in ("calls", "receives_call", "has_type", "returns")
    }


@pytest.mark.parametrize(
    ("source", "called", "kind"),
    [
        ("def f(**options: str): options.get('x')", "builtins.dict.get", "external"),
        ("def f(*items: Client): items.index(3)", "builtins.tuple.index", "external"),
        ("def f(*items): items.index(3)", "builtins.tuple.index", "external"),
        ("f = lambda *items: items.index(3)", "builtins.tuple.index", "external"),
        ("def f(client: Final[Client]): client.send()", "m.Client.send", "method"),
        ("def f():\n client: Final = Client()\n client.send()", "m.Client.send", "method"),
        ("def f(cls: type[Client]): cls.create()", "m.Client.create", "method"),
        ("def f(cls: 'Optional[Type[Client]]'): cls.create()", "m.Client.create", "method"),
        ("def f(way: Literal['a', 'b']): way.upper()", "builtins.str.upper", "external"),
    ],
)
def test_whose_member_is_called(source: str, called: str, kind: str) -> None:
    found = {fact[2:] for fact in facts_of(source) if fact[1] == "calls" and fact[2] != "m.Client"}
    assert (called, kind) in found
    assert {name for name, _ in found} == {called, "m.Client.dict", "m.Client.send"}


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: Any): a.go()",
        "def f(a: type[Any]): a.go()",
        "def f(a: type): a.go()",
        "def f(a: object): a.go()",
        "def f(a: Any | Client): a.go()",
        "def f(*a: str):\n a = list(a)\n a.go()",
    ],
)
def test_what_promises_no_member(source: str) -> None:
    found = facts_of(source)
    assert ("f.a", "receives_call", "m.f.a.go", "unresolved") in found
    assert [fact[2:] for fact in found if fact[1] == "calls" and fact[2].endswith(".go")] == [
        ("m.f.a.go", "unresolved")
    ]


def test_self_is_the_class_around_it() -> None:
    found = facts_of("limit: Final = 3\nclass A:\n    most: ClassVar = 3\n")
    assert ("Client.same.other", "has_type", "m.Client", "class") in found
    assert ("Client.same", "returns", "m.Client", "class") in found
    assert ("Client.same", "calls", "m.Client.dict", "method") in found
    assert ("Client.same.inner", "calls", "m.Client.send", "method") in found
    assert not [fact for fact in found if fact[2].startswith("typing.")]
