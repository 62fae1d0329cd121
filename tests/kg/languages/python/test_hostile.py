"""Odd source trees: every file is read or listed with its reason, names are followed, two runs are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.main import main
from weft.kg.extraction.code import CodeCorpus
from weft.kg.languages.python import LANGUAGE

READ = {
    "pkg/__init__.py": b"from pkg.one import *\nfrom pkg.two import Two as Zwei\n",
    "pkg/one.py": b"from pkg import two\nfrom .two import Two\n\n\nclass One(Two):\n    other = two.Two()\n",
    "pkg/two.py": b"from pkg import one\nimport pkg.two\n\n\nclass Two(one.One):\n    pass\n",
    "pkg/scripts.py": (
        "class Größe:\n    def 名前(self, имя):\n        return self.名前(имя)\n\n\nﬁle = Größe()\n"
    ).encode(),
    "latin.py": b"# -*- coding: latin-1 -*-\nname = '\xe9'\n\n\ndef f(a):\n    return '\xe9'\n",
    "bom.py": b"\xef\xbb\xbfdef f(a):\r\n    return 1\r\n",
    "feeds.py": b"def f(a):\n    return 1\n\x0c\ndef g(b):\n    return '\x0c\x1d'\n",
    "star.py": b"from nowhere import *\nfrom star import *\n\nx = y = undefined\n",
    "loop.py": b"a = b\nb = a\n\n\nclass C(C):\n    pass\n",
    "empty.py": b"",
    "cells.py": b"# %% [markdown]\n# # Title\n\n# %%\nimport os\n\nx = os.getcwd()\n",
}
LISTED = {
    "broken.py": (b"def f(x: int = 3 else 4): pass\n", "not Python"),
    # Every version has a later one: a string of Python 3.14 and what no version knows yet.
    "newer.py": (b"name = t'{1}'\ndef f[T](x: T) -> T where T: int: pass\n", "not Python"),
    "notebook.py": (b"# In[1]:\n%matplotlib inline\n!ls\n", "not Python"),
    "utf16.py": ("x = 1\n".encode("utf-16"), ""),
    "nul.py": (b"x = '\0'\n", ""),
    "lies.py": (b"# -*- coding: utf-8 -*-\nx = '\xff'\n", ""),
    "undefined.py": (b"# coding: undefined\nx = 1\n", "declared encoding"),
    "punycode.py": (b"# coding: punycode\nx = '\x01~'\n", "declared encoding"),
    "unknown.py": (b"# -*- coding: klingon -*-\nx = 1\n", ""),
    "deep.py": (b"x = " + b"[" * 3000 + b"]" * 3000 + b"\n", ""),
    "generated.py": (b"x = [\n" + b"    1,\n" * 1_500_000 + b"]\n", "larger than 1 MiB"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, content in [*READ.items(), *((name, content) for name, (content, _) in LISTED.items())]:
        place = tmp_path / "tree" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (tmp_path / "tree" / "pkg" / "one.pyi").write_text("class One: ...\n")
    return tmp_path / "tree"


def test_every_file_is_read_or_listed_and_two_runs_are_the_same(tree: Path) -> None:
    runs = []
    for _ in range(2):
        corpus = CodeCorpus(tree, "c", LANGUAGE)
        sources = {corpus.below(source.document): source for source in corpus}
        facts = {
            name: corpus.complete(item.document, []) for name, item in sources.items() if not item.failure
        }
        runs.append(({name: item.failure for name, item in sources.items()}, facts))
    assert runs[0] == runs[1]
    failures, facts = runs[0]
    assert failures.keys() == READ.keys() | LISTED.keys()
    assert {name for name, reason in failures.items() if reason} == LISTED.keys()
    for name, (_, reason) in LISTED.items():
        assert reason in failures[name]
    found = {(item.head, item.relation, item.tail) for items in facts.values() for item in items}
    # Two modules that import each other, and two classes that are each other's base.
    assert ("pkg.one.One", "inherits_from", "pkg.two.Two") in found
    assert ("pkg.two.Two", "inherits_from", "pkg.one.One") in found
    assert ("pkg.scripts.Größe", "has_method", "pkg.scripts.Größe.名前") in found
    assert ("pkg.scripts.Größe.名前", "has_parameter", "pkg.scripts.Größe.名前.имя") in found


def test_annotations_reach_what_can_be_read(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: (tree / name).read_bytes() for name in [*READ, *LISTED]}
    assert main(["kg", "annotate", str(tree), "--write", "--workers", "1", "--at-least", "0.9"]) == 9
    said = capsys.readouterr().err
    assert all(f"left as it is: {tree / name}: " in said for name in LISTED)
    assert all((tree / name).read_bytes() == before[name] for name in LISTED)
    assert (tree / "bom.py").read_bytes() == b"\xef\xbb\xbfdef f(a) -> int:\r\n    return 1\r\n"
    latin = (tree / "latin.py").read_bytes()
    assert (b"def f(a) -> str:" in latin, b"return '\xe9'" in latin) == (True, True)
    for name in READ:
        compile((tree / name).read_bytes(), name, "exec")
