"""Names that Python looks up in an order of its own: packages, stars, classes with several bases."""

from __future__ import annotations

import pytest

from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.order import Order
from weft.kg.languages.python.tree import PythonTree


def facts_of(files: dict[str, str], path: str) -> set[tuple[str, str, str, str]]:
    """Head, relation, tail and its kind."""
    tree = PythonTree(files)
    for name, text in files.items():
        tree.add(name, LANGUAGE.parse(text, name))
    found = tree.facts(path, LANGUAGE.parse(files[path], path))
    return {(fact.head.name, fact.relation, fact.tail.name, fact.tail.kind) for fact in found}


@pytest.mark.parametrize("line", ["from . import sub", "from pkg import sub", "from . import sub as sub"])
def test_a_package_that_imports_its_own_module(line: str) -> None:
    files = {
        "pkg/__init__.py": f"{line}\nfrom . import gone\nsub.work()\ngone.work()\n",
        "pkg/sub.py": "def work():\n    pass\n",
        "use.py": "from pkg import sub\nsub.work()\n",
    }
    found = facts_of(files, "pkg/__init__.py")
    assert ("pkg", "imports", "pkg.sub", "module") in found
    assert ("pkg", "calls", "pkg.sub.work", "function") in found
    assert ("pkg", "imports", "pkg.gone", "unresolved") in found
    assert ("use", "calls", "pkg.sub.work", "function") in facts_of(files, "use.py")


OVER = """\
from argparse import ArgumentParser
from functools import cache
from json import loads
from lib import fast, slow

class ArgumentParser(ArgumentParser):
    def shout(self):
        return super().format_help()

@cache
def cache():
    pass

try:
    from lib import quick
except ImportError:
    def quick(): pass

if cache:
    def fast(): pass

def main():
    from lib import local
    def local(): pass
    parser = ArgumentParser()
    parser.shout()
    cache()
    loads()
    quick()
    fast()
    slow()
    local()

def slow(): pass
from other import slow
"""


def test_a_definition_takes_the_place_of_an_import() -> None:
    found = facts_of(
        {"m.py": OVER, "use.py": "from m import ArgumentParser\nArgumentParser().shout()\n"}, "m.py"
    )
    assert ("m.ArgumentParser", "inherits_from", "argparse.ArgumentParser", "external") in found
    assert ("m.ArgumentParser.shout", "calls", "argparse.ArgumentParser.format_help", "external") in found
    assert ("m.cache", "decorated_by", "functools.cache", "external") in found
    assert {fact[2] for fact in found if fact[:2] == ("m.main", "calls")} == {
        "m.ArgumentParser",
        "m.ArgumentParser.shout",
        "m.cache",
        "json.loads",
        "lib.quick",
        "lib.fast",
        "other.slow",
        "m.main.local",
    }
    files = {"m.py": OVER, "use.py": "from m import ArgumentParser\nArgumentParser().shout()\n"}
    assert ("use", "calls", "m.ArgumentParser.shout", "method") in facts_of(files, "use.py")


STARS = {
    "one.py": "def same(): pass\ndef once(): pass\ndef _hidden(): pass\n",
    "two.py": "__all__ = ['same', '_shown', 'sub']\ndef same(): pass\ndef _shown(): pass\ndef kept(): pass\n",
    "grown.py": "__all__ = ['first']\n__all__.append('later')\ndef first(): pass\ndef later(): pass\n",
    "pkg/__init__.py": "__all__ = ('sub',)\n",
    "pkg/sub.py": "def work(): pass\n",
    "use.py": "from one import *\nfrom two import *\nfrom grown import *\nfrom pkg import *\n"
    "def run():\n same(); once(); _hidden(); _shown(); kept(); later(); sub.work()\n",
}


def test_of_several_stars_the_last_counts_and_all_is_respected() -> None:
    found = facts_of(STARS, "use.py")
    assert {fact[2:] for fact in found if fact[:2] == ("use.run", "calls")} == {
        ("two.same", "function"),
        ("one.once", "function"),
        ("use._hidden", "unresolved"),
        ("two._shown", "function"),
        ("use.kept", "unresolved"),
        ("grown.later", "function"),
        ("pkg.sub.work", "function"),
    }


DIAMOND = """\
from lib import Mixin

class A:
    def f(self): pass
    def g(self): pass

class B(A): pass

class C(A):
    def f(self): pass

class D(B, Mixin, C):
    def run(self):
        self.f()
        self.g()
        super().g()

class E(B, C):
    def f(self):
        super().f()

class X(X, Y): pass
class Y(X):
    def run(self): self.nothing()
"""


def test_a_member_is_looked_up_in_the_order_of_python() -> None:
    found = facts_of({"m.py": DIAMOND}, "m.py")
    calls = {(fact[0], fact[2]) for fact in found if fact[1] == "calls"}
    assert calls == {
        ("m.D.run", "builtins.super"),
        ("m.D.run", "m.C.f"),
        ("m.D.run", "m.A.g"),
        ("m.E.f", "builtins.super"),
        ("m.E.f", "m.C.f"),
        ("m.Y.run", "m.Y.nothing"),
    }


def test_orders_are_those_of_python() -> None:
    source = """
class O: pass
class A(O): pass
class B(O): pass
class C(O): pass
class D(O): pass
class E(O): pass
class K1(A, B, C): pass
class K2(D, B, E): pass
class K3(D, A): pass
class Z(K1, K2, K3): pass
"""
    names: dict[str, type] = {}
    exec(source, names)
    bases = {
        name: [base.__name__ for base in kind.__bases__] for name, kind in names.items() if name[0] != "_"
    }
    order = Order(lambda name: bases.get(name, []))
    for name in bases:
        assert order.of(name) == tuple(kind.__name__ for kind in names[name].__mro__)


@pytest.mark.parametrize("between", ["", "    other = 1\n"])
def test_nonlocal_is_of_the_function_that_binds_it(between: str) -> None:
    source = (
        "def outer():\n"
        f"{between}"
        "    def middle():\n"
        "        def inner():\n"
        "            nonlocal count\n"
        "            count = int('3')\n"
        "    count = 0\n"
    )
    found = facts_of({"m.py": source}, "m.py")
    assert {fact[0] for fact in found if fact[1] == "instance_of" and "count" in fact[0]} == {"m.outer.count"}


def test_folders_without_init_are_packages() -> None:
    files = {
        "ns/mod.py": "class Base: pass\ndef tool(): pass\n",
        "ns/deep/more.py": "def dig(): pass\n",
        "json/own.py": "def mine(): pass\n",
        "ns/user.py": """\
from ns import mod
from . import mod as beside
from ns import deep
import ns.mod, ns, json, json.own

class Other(mod.Base): pass

mod.tool()
ns.mod.tool()
beside.tool()
deep.more.dig()
ns.gone()
json.own.mine()
json.loads()
""",
    }
    found = facts_of(files, "ns/user.py")
    assert ("ns.user.Other", "inherits_from", "ns.mod.Base", "class") in found
    assert {fact[2:] for fact in found if fact[1] == "imports"} == {
        ("ns.mod", "module"),
        ("ns.deep", "module"),
        ("ns", "module"),
        ("json", "external"),
        ("json.own", "module"),
    }
    assert {fact[2:] for fact in found if fact[1] == "calls"} == {
        ("ns.mod.tool", "function"),
        ("ns.deep.more.dig", "function"),
        ("ns.gone", "external"),
        ("json.own.mine", "function"),
        ("json.loads", "external"),
    }
