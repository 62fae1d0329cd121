"""Calls of methods through objects, followed to the class that defines them, and where nothing is said."""

from __future__ import annotations

import pytest

from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.tree import PythonTree

KINDS = """
class Base:
    def close(self): ...
    def read(self): ...

class Reader(Base):
    def read(self): ...

class Other:
    def read(self): ...
"""


def called(text: str, **files: str) -> tuple[str, str]:
    """What the call leads to that ends last in ``app.f``, and the kind of that."""
    files["app"] = f"from kinds import *\n{text}"
    sources = {f"{name}.py": text for name, text in {"kinds": KINDS, **files}.items()}
    tree = PythonTree(sources)
    for path, text in sources.items():
        tree.add(path, LANGUAGE.parse(text, path))
    found = [
        fact
        for fact in tree.facts("app.py", LANGUAGE.parse(files["app"], "app.py"))
        if fact.relation == "calls" and fact.head.name.rpartition(".")[2] == "f"
    ]
    tail = max(found, key=lambda fact: fact.end).tail
    return tail.name, tail.kind


READ = ("kinds.Reader.read", "method")


@pytest.mark.parametrize(
    "text",
    [
        "from made import reader\ndef f(): reader.read()",
        "from made import reader as r\ndef f(): r.read()",
        "from handed import reader\ndef f(): reader.read()",
        "import made\ndef f(): made.reader.read()",
        "import made\nlocal = made.reader\ndef f(): local.read()",
        "from made import late\ndef f(): late.read()",
        "from made import annotated\ndef f(): annotated.read()",
        "from made import make\ndef f(): make().read()",
        "from made import make\ndef f():\n    x = make()\n    x.read()",
        "from made import fetch\nasync def f(): (await fetch()).read()",
        "def f(x: Reader | None):\n    y = x\n    y.read()",
        "def f(x: Reader):\n    y = x or Reader()\n    y.read()",
        "def f(x):\n    y = Reader() if x else None\n    y.read()",
    ],
)
def test_an_object_is_of_the_class_that_it_was_made_of(text: str) -> None:
    made = """
from kinds import Reader
reader = Reader()
annotated: Reader = load()
late = None
def start():
    global late
    late = Reader()
def make() -> "Reader | None": ...
async def fetch():
    return Reader()
"""
    assert called(text, made=made, handed="from made import reader\n") == READ


@pytest.mark.parametrize(
    "body",
    [
        "    reader: Reader\n",
        "    reader: 'Reader | None' = None\n",
        "    def __init__(self): self.reader = Reader()\n",
        "    reader = None\n    def __init__(self): self.reader = Reader()\n",
        "    def __init__(self): self.reader: Reader = load()\n",
        "    def __init__(self, reader: Reader): self.reader = reader\n",
        "    def __init__(self, reader: Reader | None): self.reader = reader or Reader()\n",
        "    reader: Reader\n    def __init__(self, reader): self.reader = reader\n",
        "    def __init__(self): self.start()\n    def start(self): self.reader = Reader()\n"
        "    def stop(self): self.reader = None\n",
        "    @property\n    def reader(self) -> Reader: ...\n",
        "    def __init__(self):\n        made = Reader()\n        self.reader = made\n",
    ],
)
def test_an_attribute_is_of_the_class_that_is_assigned_or_annotated(body: str) -> None:
    held = f"from kinds import Other, Reader\nclass Held:\n{body}"
    assert (
        called("from held import Held\nclass A(Held):\n    def f(self): self.reader.read()", held=held)
        == READ
    )
    assert called("from held import Held\ndef f(x: Held): x.reader.read()", held=held) == READ
    assert called("from held import Held\nx = Held()\ndef f(): x.reader.close()", held=held) == (
        "kinds.Base.close",
        "method",
    )


@pytest.mark.parametrize(
    "method",
    [
        "@classmethod\n    def make(cls): return cls()",
        "@classmethod\n    def make(cls):\n        made = cls()\n        return made",
        "@classmethod\n    def make(cls) -> Self: ...",
        "def make(self): return self",
        "def make(self) -> 'Self': return self",
    ],
)
def test_what_a_method_makes_of_its_own_class_is_of_the_class_it_is_called_on(method: str) -> None:
    text = f"class A:\n    {method}\n    def read(self): ...\nclass B(A):\n    def read(self): ...\n"
    maker = "B" if "cls" in method else "B()"
    assert called(f"{text}def f():\n    x = {maker}.make()\n    x.read()") == ("app.B.read", "method")


@pytest.mark.parametrize(
    "text",
    [
        "from made import either\ndef f(): either.read()",
        "from made import rebound\ndef f(): rebound.read()",
        "from made import looped\ndef f(): looped.read()",
        "try: from made import one\nexcept ImportError: from made import other as one\ndef f(): one.read()",
        "from twice import one\ndef f(): one.read()",
        "from made import fetch\nasync def f(): fetch().read()",
        "from made import wrapped\ndef f(): wrapped().read()",
        "from made import several\ndef f(): several().read()",
        "from made import gives\ndef f(): gives().read()",
        "from made import union\ndef f(): union.read()",
        "def f(x: Reader | Other):\n    y = x\n    y.read()",
        "def f(x):\n    y = x or Reader()\n    y.read()",
        "def f(x):\n    y = Reader()\n    y = y.next()\n    y.read()",
        "def f(*x: Reader):\n    y = x\n    y.read()",
        "def f():\n    with open(x) as y: y.read()",
        "def f(x):\n    x.read()",
    ],
)
def test_nothing_is_said_where_an_object_may_be_of_two_classes(text: str) -> None:
    made = """
from kinds import Other, Reader
one, other = Reader(), Other()
if one: either = Reader()
else: either = Other()
rebound = Reader()
def start():
    global rebound
    rebound = Other()
for looped in (Reader(), Other()): ...
async def fetch() -> Reader: ...
@decorated
def wrapped() -> Reader: ...
@overload
def several(x: int) -> Reader: ...
def several(x): return Reader()
def gives():
    yield Reader()
union: Reader | Other = Reader()
"""
    twice = "try: from made import one\nexcept ImportError: from made import other as one\n"
    name, kind = called(text, made=made, twice=twice)
    assert kind == "unresolved"
    assert not name.startswith("kinds.")


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("def __init__(self): self.reader = Reader()\n    def late(self): self.reader = Other()", ""),
        ("def __init__(self, reader): self.reader = reader", ""),
        ("def __init__(self, reader=Reader()): self.reader = reader", ""),
        ("def __init__(self): self.reader, self.x = Reader(), 1", ""),
        (
            "def __init__(self): self.reader = Reader()",
            "class C(A):\n    def __init__(self): self.reader = Other()\n",
        ),
        ("def __init__(self): self.reader = Reader()", "class C(A):\n    reader = property(make)\n"),
        ("def __init__(self): self.reader = Reader()", "def g(x): x.reader = Other()\n"),
        ("reader = Reader()", ""),
        ("reader: Given", "class Given(Reader):\n    def __get__(self, *_): return 1\n"),
        ("reader: 'Reader | Other'", ""),
        (
            "@property\n    def reader(self): return Reader()",
            "class C(A):\n    @property\n    def reader(self): return Other()\n",
        ),
        (
            "@property\n    def reader(self) -> Reader: ...\n    @reader.setter\n    def reader(self, x): ...",
            "",
        ),
    ],
)
def test_nothing_is_said_of_an_attribute_that_may_hold_two_classes(body: str, more: str) -> None:
    name, kind = called(f"class A:\n    {body}\n    def f(self): self.reader.read()\n{more}")
    assert (name, kind) == ("app.A.reader.read", "unresolved")


def test_a_class_that_has_no_such_method_is_named_and_the_call_is_unresolved() -> None:
    text = "from made import reader\ndef f(): reader.wind()"
    made = "from kinds import Reader\nreader = Reader()\n"
    assert called(text, made=made) == ("kinds.Reader.wind", "unresolved")


def test_the_object_receives_the_method_that_is_called() -> None:
    tree = PythonTree(["m.py"])
    text = "class A:\n    def go(self): ...\nclass B:\n    a: A\n    def f(self): self.a.go()\n"
    tree.add("m.py", LANGUAGE.parse(text, "m.py"))
    facts = tree.facts("m.py", LANGUAGE.parse(text, "m.py"))
    assert [(fact.head.name, fact.tail.name) for fact in facts if fact.relation == "receives_call"] == [
        ("m.B.a", "m.A.go")
    ]


def test_names_that_lead_to_each_other_in_a_circle_end() -> None:
    text = "def f():\n    a = b.x()\n    b = a.y()\n    a.read()\n"
    assert called(text)[1] == "unresolved"
    many = "\n".join(f"    x{n} = x{n - 1}.a() or x{n - 2}.b() or x{n - 3}.c()" for n in range(3, 60))
    assert called(f"def f(x0, x1, x2):\n{many}\n    x59.read()")[1] == "unresolved"
