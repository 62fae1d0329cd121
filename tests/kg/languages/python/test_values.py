"""The class of a value is the one that its expression names, whatever else has that name around it."""

from __future__ import annotations

import ast

import pytest

from weft.kg.annotate.plan import missing
from weft.kg.annotate.tree import Annotated
from weft.kg.annotate.write import annotated
from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.tree import PythonTree

SOURCE = """\
import collections
import decimal as d
from decimal import Decimal as D

class Counter:
    pass

class timeout(Exception):
    pass

def make():
    return collections.Counter()

def own():
    return Counter()

tally = collections.Counter()
order = collections.OrderedDict()
price = -d.Decimal("1")
other = D("1")
late = timeout()

def list():
    return []

def Lock():
    return 1

def twice(x):
    return x.Make()()

def held():
    return Lock()

things = [1, 2]
lock = Lock()
size = len(things)
text = "a" + str(size)
made = (item for item in things)

def cast(tensor):
    return tensor.float()

class Store:
    t = {}

    def __init__(self):
        self.counts = collections.Counter()
        self.mine = Counter()
        self.dict = 1

    def dict(self):
        return {"a": 1}

    def table(self):
        return {"b": 2}

class Shelf:
    def __init__(self):
        self.set = 1

    def parts(self):
        return {"b"}
"""


def tree_of(text: str) -> PythonTree:
    tree = PythonTree(["app.py"])
    tree.add("app.py", LANGUAGE.parse(text, "app.py"))
    return tree


@pytest.mark.parametrize(
    ("head", "relation", "tail"),
    [
        ("tally", "instance_of", ("collections.Counter", "external")),
        ("order", "instance_of", ("collections.OrderedDict", "external")),
        ("price", "instance_of", ("decimal.Decimal", "external")),
        ("other", "instance_of", ("decimal.Decimal", "external")),
        ("late", "instance_of", ("app.timeout", "class")),
        ("things", "instance_of", ("builtins.list", "external")),
        ("size", "instance_of", ("builtins.int", "external")),
        ("text", "instance_of", ("builtins.str", "external")),
        ("made", "instance_of", ("collections.abc.Generator", "external")),
        ("lock", "instance_of", None),
        ("Store.t", "instance_of", ("builtins.dict", "external")),
        ("Store.mine", "instance_of", ("app.Counter", "class")),
        ("make", "returns", ("collections.Counter", "external")),
        ("own", "returns", ("app.Counter", "class")),
        ("held", "returns", None),
        ("twice", "returns", None),
        ("cast", "returns", None),
        ("Store.table", "returns", ("builtins.dict", "external")),
        ("Shelf.parts", "returns", ("builtins.set", "external")),
    ],
)
def test_the_class_that_an_expression_names(head: str, relation: str, tail: tuple[str, str] | None) -> None:
    facts = tree_of(SOURCE).facts("app.py", LANGUAGE.parse(SOURCE, "app.py"))
    found = {fact.tail for fact in facts if (fact.head.name, fact.relation) == (f"app.{head}", relation)}
    assert found == ({tail} if tail else set())


def test_only_a_name_that_means_the_class_is_written() -> None:
    tree, file = tree_of(SOURCE), LANGUAGE.parse(SOURCE, "app.py")
    asked = [*tree.open_questions("app.py", file), *tree.open_attributes("app.py", file)]
    lacking = missing("app.py", SOURCE, tree, sorted(asked, key=lambda item: item.start), [], 1.0)
    chosen = Annotated(path=None, below="app.py", text=SOURCE, missing=lacking).chosen(0.5)  # type: ignore[arg-type]
    text = annotated(SOURCE, chosen, "app.py")
    written = {node.name: ast.unparse(node.returns) for node in ast.walk(ast.parse(text))
               if isinstance(node, ast.FunctionDef) and node.returns is not None}  # fmt: skip
    assert written == {"own": "Counter", "Lock": "int", "__init__": "None", "parts": "set"}
    assert "t = {}" in text
    assert "self.counts = collections.Counter()" in text
    assert "self.mine: Counter = Counter()" in text


def test_what_nothing_hides_is_imported_to_be_written() -> None:
    source = "import collections\n\ndef make():\n    return collections.Counter()\n"
    tree = tree_of(source)
    lacking = missing(
        "app.py", source, tree, tree.open_questions("app.py", LANGUAGE.parse(source, "app.py")), [], 1.0
    )
    assert [(best.text, best.module) for item in lacking if (best := item.best(0.5))] == [
        ("Counter", "collections")
    ]


def test_what_is_imported_by_another_name_is_written_by_it() -> None:
    source = (
        "from decimal import Decimal as D\nclass Decimal: pass\ndef one():\n    return D(1)\n"
        "def two():\n    return Decimal()\n"
    )
    tree = tree_of(source)
    asked = tree.open_questions("app.py", LANGUAGE.parse(source, "app.py"))
    lacking = missing("app.py", source, tree, asked, [], 1.0)
    assert [(best.text, best.module) for item in lacking if (best := item.best(0.5))] == [
        ("D", ""),
        ("Decimal", ""),
    ]
