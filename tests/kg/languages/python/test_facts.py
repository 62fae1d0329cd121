"""Facts of Python source: one example and one counter-example for every relation."""

from __future__ import annotations

import ast

import pytest

from weft.kg.languages.python.facts import facts, type_name, value_type
from weft.kg.languages.python.schema import PYTHON
from weft.kg.languages.python.units import SourceFile


def triples(source: str) -> set[tuple[str, str, str]]:
    file = SourceFile(source)
    return {(f.head, f.relation, f.tail) for unit in file.units() for f in facts(file, unit)}


EXAMPLES = {
    "calls": ("def f(self):\n    g(1)\n    self.h()", {("f", "g"), ("f", "h")}),
    "receives_call": ("def f(a):\n    a.b.append(1)", {("b", "append")}),
    "has_parameter": (
        "def f(self, a, /, *b, c, **d): pass",
        {("f", "a"), ("f", "b"), ("f", "c"), ("f", "d")},
    ),
    "reads_attribute": ("def f(a):\n    return a.b.c", {("a", "b"), ("b", "c")}),
    "sets_attribute": (
        "def f(self):\n    self.x = 1\n    del self.y\n    self.z += 1",
        {("self", "x"), ("self", "y"), ("self", "z")},
    ),
    "has_method": ("class A:\n    def m(self): pass\n    async def n(self): pass", {("A", "m"), ("A", "n")}),
    "result_of": (
        "def f():\n    x = g()\n    with h() as y: pass\n    z = await k.l()\n    (w := m())",
        {("x", "g"), ("y", "h"), ("z", "l"), ("w", "m")},
    ),
    "has_default": (
        "def f(a, b=None, *, c=3, d='s', e=mod.X): pass",
        {("b", "None"), ("c", "3"), ("e", "X")},
    ),
    "returns": (
        "def f() -> list[int] | None: ...\ndef g():\n    return [1]\ndef h(): pass\n"
        "def i(): raise E\ndef j():\n    yield 1\n"
        "def k(): return ', '.join(x)\ndef l(): return b''.join(x)\ndef m(): return '{}'.format(1)",
        {("f", "list"), ("g", "list"), ("h", "None"), ("k", "str"), ("l", "bytes"), ("m", "str")},
    ),
    "instance_of": (
        "def f():\n    a = {}\n    b = f'{a}'\n    c = Thing(1)\n    d = not a\n    e = g()\n    w = await Thing()",
        {("a", "dict"), ("b", "str"), ("c", "Thing"), ("d", "bool")},
    ),
    "raises": (
        "def f():\n    raise ValueError('x')\ndef g():\n    raise error\ndef h():\n    raise",
        {("f", "ValueError")},
    ),
    "inherits_from": ("class A(b.C, D[int], metaclass=M): pass", {("A", "C"), ("A", "D")}),
    "has_class_attribute": (
        "class A:\n    x = 1\n    y: int = 2\n    def m(self):\n        z = 3",
        {("A", "x"), ("A", "y")},
    ),
    "handles": (
        "def f():\n    try: pass\n    except (A, b.C): pass\n    except D as e: pass\n    except: pass",
        {("f", "A"), ("f", "C"), ("f", "D")},
    ),
    "element_of": (
        "def f(xs):\n    for x in xs: pass\n    for i, y in enumerate(ys): pass\n    [z for z in d.items()]",
        {("x", "xs"), ("i", "ys"), ("y", "ys"), ("z", "d")},
    ),
    "decorated_by": ("@a.b(1)\ndef f(): pass\n@c\nclass D: pass", {("f", "b"), ("D", "c")}),
    "imports": ("from a.b import c, d as e\nimport x\nfrom f import *", {("b", "c"), ("b", "d")}),
    "has_type": (
        "def f(a: int, b: 'Optional[Foo]', c: Any):\n    x: list[str] = []",
        {("a", "int"), ("b", "Foo"), ("x", "list")},
    ),
}


def test_every_relation_has_an_example_and_a_definition() -> None:
    assert set(EXAMPLES) == set(PYTHON.names[1:])
    assert all(len(text) > 20 and "\n" not in text for text in PYTHON.definitions().values())


@pytest.mark.parametrize("relation", EXAMPLES)
def test_relation(relation: str) -> None:
    source, expected = EXAMPLES[relation]
    assert {(head, tail) for head, name, tail in triples(source) if name == relation} == expected


def test_a_nested_function_keeps_its_own_facts() -> None:
    found = triples("def f():\n    def g(a):\n        h()\n    k()")
    assert ("g", "calls", "h") in found
    assert ("f", "calls", "k") in found
    assert ("f", "calls", "h") not in found


def test_a_called_attribute_is_not_read() -> None:
    found = triples("def f(a):\n    a.b()\n    a.c")
    assert ("a", "reads_attribute", "c") in found
    assert ("a", "reads_attribute", "b") not in found


def test_facts_stand_where_the_source_states_them() -> None:
    source = "def f(a):\n    b = g(a)\n"
    file = SourceFile(source)
    places = {(f.relation, f.tail): f.offset for unit in file.units() for f in facts(file, unit)}
    assert source[places["calls", "g"] :].startswith("g(a)")
    assert source[places["has_parameter", "a"] :].startswith("a)")


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("int", "int"),
        ("a.b.Foo", "Foo"),
        ("Optional[int]", "int"),
        ("Union[None, str]", "str"),
        ("int | None", "int"),
        ("int | str", None),
        ("None", "None"),
        ("'list[int]'", "list"),
        ("'not python'", None),
        ("Annotated[int, 3]", "int"),
        ("Literal['a', 'b']", "str"),
        ("Literal['a', 1]", None),
        ("List[int]", "list"),
        ("StrPath", "str"),
        ("Any", None),
        ("_Private", None),
        ("T", None),
        ("Callable[[int], str]", "Callable"),
        ("lambda: 0", None),
    ],
)
def test_type_names(annotation: str, expected: str | None) -> None:
    assert type_name(ast.parse(annotation, mode="eval").body) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1", "int"),
        ("-1.5", "float"),
        ("None", None),
        ("'a' % b", "str"),
        ("', '.join(x)", "str"),
        ("x", None),
        ("a < b", "bool"),
        ("len(x)", "int"),
        ("f(x)", None),
        ("CONSTANT(x)", None),
    ],
)
def test_value_types(expression: str, expected: str | None) -> None:
    assert value_type(ast.parse(expression, mode="eval").body) == expected
