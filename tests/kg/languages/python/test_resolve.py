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
