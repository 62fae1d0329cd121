"""Names that Python looks up in an order of its own: packages, stars, classes with several bases."""

from __future__ import annotations

import pytest

from weft.kg.languages.python import LANGUAGE
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
