"""Names followed from file to file, and the facts that a tree states, each at its place."""

from __future__ import annotations

import symtable
import sysconfig
from pathlib import Path

import pytest

from weft.errors import InputError
from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.scopes import Scope, module_scope
from weft.kg.languages.python.tree import PythonTree, module_names

FILES = {
    "shop/__init__.py": "from .base import Thing as Item\nfrom .star import *\n",
    "shop/base.py": '''
import os.path as place
from . import base

class Thing:
    """A thing."""
    shared = None

    def __init__(self, name, size: int = 3):
        self.name = name
        self.size = size
        self.late = None

    @property
    def late(self):
        return self._late

    def label(self):
        return self.name + place.join("a", "b")

    @classmethod
    def make(cls):
        return cls("x")
''',
    "shop/star.py": "def helper(value):\n    return value\n\n_hidden = 1\n",
    "shop/use.py": """
from typing import Optional
from shop import Item, helper
import shop.base
from missing import gone

class Special(Item):
    def label(self):
        print(self.name, self.nothing)
        for part in self.parts():
            helper(part)
        return super().label()

    def parts(self) -> Optional["Special"]:
        try:
            raise shop.base.Thing("no")
        except (ValueError, gone.Error):
            pass

def sell(item: Item, count, *rest, key=None, **more):
    item.label()
    count.bit_length()
    local = Special("a")
    local.make()
    def inner(count):
        return count, item
    return [count for count in rest]
""",
    "scripts/run.py": "import shop\nshop.Item('a').label()\nundefined_name()\n",
}


def tree_of(files: dict[str, str]) -> PythonTree:
    tree = PythonTree(files)
    for path, text in files.items():
        tree.add(path, LANGUAGE.parse(text, path))
    return tree


def facts_of(files: dict[str, str], path: str) -> set[tuple[str, str, str, str]]:
    """Head, relation, tail and the text of the place."""
    text = files[path]
    found = tree_of(files).facts(path, LANGUAGE.parse(text, path))
    return {(f.head.name, f.relation, f.tail.name, text[f.start : f.end]) for f in found}


def kinds_of(files: dict[str, str], path: str) -> dict[str, str]:
    found = tree_of(files).facts(path, LANGUAGE.parse(files[path], path))
    return {end.name: end.kind for fact in found for end in (fact.head, fact.tail)}


@pytest.mark.parametrize(
    "fact",
    [
        ("shop.use.Special", "inherits_from", "shop.base.Thing", "Item"),
        ("shop.use.Special", "has_method", "shop.use.Special.label", "label"),
        ("shop.use.Special", "reads_attribute", "shop.base.Thing.name", "self.name"),
        ("shop.use.Special", "reads_attribute", "shop.use.Special.nothing", "self.nothing"),
        ("shop.use.Special.label", "calls", "shop.use.Special.parts", "self.parts"),
        ("shop.use.Special.label", "calls", "shop.star.helper", "helper"),
        ("shop.use.Special.label", "calls", "shop.base.Thing.label", "super().label"),
        ("shop.use.Special.label", "calls", "builtins.print", "print"),
        ("shop.use.Special.label.part", "element_of", "shop.use.Special.parts", "self.parts()"),
        ("shop.use.Special.parts", "raises", "shop.base.Thing", "shop.base.Thing"),
        ("shop.use.Special.parts", "handles", "builtins.ValueError", "ValueError"),
        ("shop.use.Special.parts", "handles", "missing.gone.Error", "gone.Error"),
        ("shop.use.Special.parts", "returns", "shop.use.Special", '"Special"'),
        ("shop.use.Special.parts", "returns", "None", 'Optional["Special"]'),
        ("shop.use.sell", "has_parameter", "shop.use.sell.rest", "rest"),
        ("shop.use.sell", "has_parameter", "shop.use.sell.more", "more"),
        ("shop.use.sell.key", "has_default", "None", "None"),
        ("shop.use.sell.item", "has_type", "shop.base.Thing", "Item"),
        ("shop.use.sell", "calls", "shop.base.Thing.label", "item.label"),
        ("shop.use.sell.count", "receives_call", "shop.use.sell.count.bit_length", "count.bit_length"),
        ("shop.use.sell.local", "instance_of", "shop.use.Special", 'Special("a")'),
        ("shop.use.sell", "calls", "shop.base.Thing.make", "local.make"),
        ("shop.use.sell.inner", "has_parameter", "shop.use.sell.inner.count", "count"),
        ("shop.use.sell.<comprehension 1>.count", "element_of", "shop.use.sell.rest", "rest"),
        ("shop.use", "imports", "shop.base.Thing", "Item"),
        ("shop.use", "imports", "shop.base", "shop.base"),
    ],
)
def test_what_a_file_states(fact: tuple[str, str, str, str]) -> None:
    assert fact in facts_of(FILES, "shop/use.py")


def test_what_is_not_stated() -> None:
    found = facts_of(FILES, "shop/use.py")
    assert not [fact for fact in found if fact[1] == "has_parameter" and fact[2].endswith(".self")]
    assert not [fact for fact in found if fact[2] == "shop.use.Item"]
    assert len([fact for fact in found if fact[1] == "has_parameter"]) == 6


def test_what_cannot_be_followed_says_so() -> None:
    kinds = kinds_of(FILES, "shop/use.py")
    assert kinds["shop.use.sell.count.bit_length"] == "unresolved"
    assert kinds["shop.use.Special.nothing"] == "unresolved"
    assert kinds["missing.gone.Error"] == "external"
    assert kinds["shop.base.Thing"] == "class"
    assert kinds["shop.use.sell.count"] == "parameter"
    assert kinds_of(FILES, "scripts/run.py")["scripts.run.undefined_name"] == "unresolved"


def test_a_call_is_followed_to_its_class_from_another_folder() -> None:
    found = facts_of(FILES, "scripts/run.py")
    assert ("scripts.run", "calls", "shop.base.Thing.label", "shop.Item('a').label") in found


def test_questions_are_what_no_one_wrote_down() -> None:
    path = "shop/base.py"
    tree = tree_of(FILES)
    asked = tree.open_questions(path, LANGUAGE.parse(FILES[path], path))
    assert [(item.head.name, item.relation, item.plain) for item in asked] == [
        ("shop.base.Thing.__init__", "returns", "None"),
        ("shop.base.Thing.__init__.name", "has_type", ""),
        ("shop.base.Thing.late", "returns", ""),
        ("shop.base.Thing.label", "returns", ""),
        ("shop.base.Thing.make", "returns", ""),
    ]
    assert all(FILES[path][item.start : item.end] == item.name for item in asked)
    assert tree.type_named("shop/use.py", "Item").name == "shop.base.Thing"
    assert tree.type_named("shop/star.py", "Special") == ("shop.use.Special", "class")
    assert tree.type_named("shop/star.py", "str") == ("builtins.str", "external")
    assert tree.type_named("shop/star.py", "Nowhere") == ("Nowhere", "unresolved")


def test_a_property_that_a_method_assigns_above_it_is_a_method() -> None:
    assert ("shop.base.Thing", "has_method", "shop.base.Thing.late", "late") in facts_of(
        FILES, "shop/base.py"
    )


def test_circles_end() -> None:
    files = {
        "a.py": "from b import x\nfrom b import *\nclass A(x.B, A): pass\nx.y.z()\n",
        "b.py": "from a import x\nfrom a import *\nclass B(B): pass\nB.nothing\nv = v.w()\n",
    }
    assert facts_of(files, "a.py")
    assert facts_of(files, "b.py")


def test_a_file_nested_too_deep_is_refused() -> None:
    text = "x = " + "-" * 60 + "1\n"
    deep = {"a.py": "x = " + "a" + ".b" * 3000 + "\n", "ok.py": text}
    tree = PythonTree(deep)
    with pytest.raises(InputError):
        tree.add("a.py", LANGUAGE.parse(deep["a.py"], "a.py"))
    tree.add("ok.py", LANGUAGE.parse(text, "ok.py"))


def test_modules_are_named_by_their_packages() -> None:
    names = module_names(
        ["setup.py", "src/pkg/__init__.py", "src/pkg/sub/__init__.py", "src/pkg/sub/m.py", "tests/one/conftest.py",
         "tests/two/conftest.py", "src/lone.py"]
    )  # fmt: skip
    assert names["src/pkg/__init__.py"] == ("pkg", "pkg")
    assert names["src/pkg/sub/m.py"] == ("pkg.sub.m", "pkg.sub")
    assert names["tests/two/conftest.py"][0] == "tests.two.conftest"
    assert names["src/lone.py"][0] == "lone"
    assert names["setup.py"][0] == "setup"
    inside = module_names(["__init__.py", "sub/m.py", "sub/__init__.py"], ("top", "pkg"))
    assert inside == {
        "__init__.py": ("top.pkg", "top.pkg"),
        "sub/m.py": ("top.pkg.sub.m", "top.pkg.sub"),
        "sub/__init__.py": ("top.pkg.sub", "top.pkg.sub"),
    }
    both = module_names(["a/same.py", "src/a/same.py"])
    assert len({name for name, _ in both.values()}) == 2


@pytest.mark.parametrize("name", ["argparse.py", "dataclasses.py", "typing.py", "contextlib.py", "ast.py"])
def test_scopes_bind_what_pythons_own_tables_bind(name: str) -> None:
    path = Path(sysconfig.get_path("stdlib")) / name
    text = path.read_text(encoding="utf-8")
    ours = module_scope(LANGUAGE.parse(text, name).tree, "m", "")
    theirs = symtable.symtable(text, name, "exec")

    def own(scope: Scope) -> set[str]:
        # Attributes that methods set stand among a class's names here, and not in Python's tables.
        return {
            item
            for item, binding in scope.names.items()
            if any(not hasattr(node, "attr") for node in binding.nodes)
        }

    def check(mine: Scope, table: symtable.SymbolTable) -> int:
        bound = {
            s.get_name()
            for s in table.get_symbols()
            if s.is_assigned() or s.is_imported() or s.is_parameter()
        }
        local = {item for item in bound if mine.kind == "module" or not table.lookup(item).is_global()}
        local = {item for item in local if not table.lookup(item).is_nonlocal() and not item.startswith(".")}
        assert own(mine) == local, (mine.name, own(mine) ^ local)
        defs = [scope for scope in mine.inner.values() if not scope.name.rpartition(".")[2].startswith("<")]
        tables = [child for child in table.get_children() if child.get_name() not in ("lambda", "top")]
        tables = [child for child in tables if not child.get_name().endswith(("comp", "genexpr"))]
        assert sorted(scope.name.rpartition(".")[2] for scope in defs) == sorted(t.get_name() for t in tables)
        left = list(tables)
        count = 1
        for scope in defs:
            wanted = scope.name.rpartition(".")[2], getattr(scope.node, "lineno", 0)
            first = min([wanted[1], *(d.lineno for d in getattr(scope.node, "decorator_list", []))])
            same = [t for t in left if t.get_name() == wanted[0] and first <= t.get_lineno() <= wanted[1]]
            left.remove(same[0])
            count += check(scope, same[0])
        return count

    # A global declaration binds in the module what the module itself need not assign.
    for function in symtable_functions(theirs):
        for symbol in function.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                ours.names.pop(symbol.get_name(), None) if not _assigned(theirs, symbol.get_name()) else None
    assert check(ours, theirs) > 10


def symtable_functions(table: symtable.SymbolTable) -> list[symtable.SymbolTable]:
    return [table, *(inner for child in table.get_children() for inner in symtable_functions(child))]


def _assigned(table: symtable.SymbolTable, name: str) -> bool:
    return name in table.get_identifiers() and (
        table.lookup(name).is_assigned() or table.lookup(name).is_imported()
    )
