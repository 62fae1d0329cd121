"""What a function plainly returns: never a class alone where it may be ``None``, nothing where others fill it in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from weft.kg.annotate.plan import missing
from weft.kg.annotate.write import annotated
from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.resolve import Modules
from weft.kg.languages.python.returns import returned
from weft.kg.languages.python.units import Function


def plain(source: str) -> tuple[str, bool]:
    """Of the last function of a source."""
    tree = ast.parse(source)
    modules = Modules()
    scope = modules.add(tree, "m", "").scope
    around: ast.AST = tree.body[-1] if isinstance(tree.body[-1], ast.ClassDef) else tree
    node = around.body[-1]  # type: ignore[attr-defined]  # a module or a class
    assert isinstance(node, Function)
    kind, optional = returned(scope.inner.get(id(around), scope).inner[id(node)], modules)
    return ("" if kind is None else kind.name.removeprefix("builtins.")), optional


@pytest.mark.parametrize(
    "body",
    [
        "if x: return 1\nreturn None",
        "if x: return 1\nreturn",
        "if x: return 1",
        "if x: return 1\nelif y: return 2",
        "for a in x:\n return 1",
        "for a in x:\n if a: break\nelse:\n return 1",
        "while x:\n return 1",
        "while True:\n if x: return 1\n break",
        "while True:\n for a in x: return 1\n else: break",
        "while True:\n try: return 1\n except E: break",
        "try: return 1\nexcept E: pass",
        "try: x()\nexcept E: return 1",
        "with suppress(E): return 1",
        "with pytest.raises(E): return 1",
        "match x:\n case 1: return 1\n case _: pass",
        "match x:\n case 1: return 1\n case 2: pass",
        "def inner():\n  raise E\nif x: return 1\nprint(2)",
    ],
)
def test_a_function_that_may_return_none_says_so(body: str) -> None:
    assert plain("def f(x):\n" + "\n".join(f" {line}" for line in body.split("\n"))) == ("int", True)


@pytest.mark.parametrize(
    "body",
    [
        "return 1",
        "if x: return 1\nelse: return 2",
        "if x: return 1\nraise E",
        "if x: return 1\nassert False",
        "while True:\n if x: return 1",
        "while 1:\n for a in x: break\n if x: return 1",
        "while True:\n while x: break\n return 1",
        "for a in x:\n if a: return 1\nelse:\n return 2",
        "try: return 1\nexcept E: raise\nfinally: x()",
        "try: x()\nexcept E: return 1\nelse: return 2",
        "try: pass\nfinally: return 1",
        "with open(x) as file: return 1",
        "match x:\n case 1: return 1\n case _: raise E",
        "match x:\n case 1: return 1\n case other: return 2",
        "def inner(): return None\nreturn 1",
        "def inner(): yield\nreturn 1",
    ],
)
def test_a_function_whose_end_is_not_reached_returns_its_class(body: str) -> None:
    assert plain("def f(x):\n" + "\n".join(f" {line}" for line in body.split("\n"))) == ("int", False)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n if x: return 1\n sys.exit(2)",
        "def f(self, x):\n if x: return 1\n self.fail(x)",
        "def f(x):\n match x:\n  case A(): return 1\n  case B(): return 2",
        "def f(x):\n match x:\n  case 1: return 1\n  case y if x: return 2",
        "def f(x):\n if x: return 1\n return 'a'",
        "def f(x):\n yield 1\n return 1",
        "def f(x):\n if x: return\n yield x",
        "def f(x): raise NotImplementedError",
        "def f(x): ...",
        "def f(x): 'What it is for.'",
        "class A(ABC):\n @abstractmethod\n def f(self): pass",
        "class A(ABC):\n @property\n @abc.abstractmethod\n def f(self): return 1",
        "@overload\ndef f(x): pass",
        "class P(Protocol):\n def f(self): 'Size.'; pass",
        "class P(typing.Protocol[T]):\n def f(self): return 1",
    ],
)
def test_what_is_not_plain_and_what_others_fill_in(source: str) -> None:
    assert plain(source) == ("", False)


@pytest.mark.parametrize(
    "source",
    [
        "def f(x): pass",
        "def f(x):\n if x: return\n print(x)",
        "def f(x):\n if x: return None",
        "class A(Base):\n def f(self): 'A hook.'; pass",
        "class A:\n async def f(self): await x()",
        "class A:\n def __init__(self): 'Nothing to do.'",
        "class A:\n @x.setter\n def x(self, value): 'Ignored.'",
    ],
)
def test_a_function_without_a_value_returns_none(source: str) -> None:
    assert plain(source) == ("None", False)


@pytest.mark.parametrize(
    "end",
    ["if x: return g(x)", "return g(x) if x else None", "return g(x) or None", "return x and g(x) and None"],
)
def test_none_is_told_where_the_class_is_not_plain(end: str) -> None:
    assert plain(f"def f(x):\n {end}") == ("", True)


SOURCE = """\
def g(x: bool):
    if x:
        return 1
    return None


class P(Protocol):
    def size(self):
        ...
"""


def test_none_is_written_beside_a_class_and_both_are_stated() -> None:
    tree = LANGUAGE.tree(Path("nowhere"), ["m.py"])
    file = LANGUAGE.parse(SOURCE, "m.py")
    tree.add("m.py", file)
    asked = tree.open_questions("m.py", file)
    found = missing("m.py", SOURCE, tree, asked, [], 0.9)
    chosen = [(item, item.candidates[0]) for item in found if item.candidates]
    assert annotated(SOURCE, chosen, "m.py") == SOURCE.replace("(x: bool):", "(x: bool) -> int | None:")
    stated = {
        (fact.head.name, fact.tail.name) for fact in tree.facts("m.py", file) if fact.relation == "returns"
    }
    assert stated == {("m.g", "builtins.int"), ("m.g", "None")}
