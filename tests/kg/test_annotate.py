"""Annotations written into a tree: what is added, what is left alone, what a checker may take back."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.kg.annotate.check import checked
from weft.kg.annotate.infer import says_none
from weft.kg.annotate.plan import Candidate, Missing, missing
from weft.kg.annotate.rewrite import annotated_texts
from weft.kg.annotate.stubs import stub
from weft.kg.annotate.tree import Annotated, Findings
from weft.kg.annotate.write import annotated
from weft.kg.extraction.inferred import Inferred
from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.unit import End, Open

SOURCE = '''"""Doc."""
# A comment.
import os


class Reader:
    def __init__(self, path, size = 10, *, mode=None):  # keep
        self.path = path

    def load(self, name: str, other="x") -> str:
        return  name + other   # odd   spaces


def run(reader, things, unknown):
    def inner(a):
        return a
    reader.load("a")
'''
FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": SOURCE,
    "pkg/b.py": "def use(reader):\n    return reader.load('x')\n",
    "pkg/c.py": "class Outer:\n    class Inner:\n        pass\n\n\nfrozenset = make()\n\n\n"
    "def grün(innen, größe=None, *, menge, reader: int):\n    return innen\n",
}
GUESSES = {
    "path": "str",
    "size": "int",
    "mode": "str",
    "other": "str",
    "reader": "Reader",
    "things": "Iterable",
    "unknown": "Mystery",
    "a": "int",
    "innen": "Inner",
    "größe": "int",
    "menge": "frozenset",
}


def planned(path: str, sure: float = 0.95) -> Annotated:
    tree = LANGUAGE.tree(Path("nowhere"), FILES)
    for name, text in FILES.items():
        tree.add(name, LANGUAGE.parse(text, name))
    asked = tree.open_questions(path, LANGUAGE.parse(FILES[path], path))
    inferred = [
        Inferred(item, ((GUESSES[item.name], sure), ("bytes", 0.02)), (0, 1))
        for item in asked
        if item.name in GUESSES
    ]
    found = missing(path, FILES[path], tree, asked, inferred, 0.9)
    return Annotated(Path(path), path, FILES[path], found)


def test_what_is_written() -> None:
    file = planned("pkg/a.py")
    text = annotated(file.text, file.chosen(0.8), file.below)
    assert (
        "    def __init__(self, path: str, size: int = 10, *, mode: str | None = None) -> None:  # keep\n"
        in text
    )
    assert '    def load(self, name: str, other: str = "x") -> str:\n' in text
    assert "def run(reader: Reader, things: Iterable, unknown) -> None:\n" in text
    assert "    def inner(a: int):\n" in text
    assert "from collections.abc import Iterable\n" in text
    assert "        return  name + other   # odd   spaces\n" in text
    unchanged = [line for line in SOURCE.splitlines() if "def " not in line]
    assert [line for line in unchanged if line not in text.splitlines()] == []


def test_a_class_of_another_module_is_imported_for_the_checker_alone() -> None:
    file = planned("pkg/b.py")
    text = annotated(file.text, file.chosen(0.8), file.below)
    assert "if TYPE_CHECKING:\n    from pkg.a import Reader\n" in text
    assert text.count("from pkg.a import Reader") == 1
    assert "from typing import TYPE_CHECKING\n" in text
    assert 'def use(reader: "Reader"):\n' in text
    compile(text, "b.py", "exec")


def test_nothing_below_the_wanted_confidence_is_written() -> None:
    file = planned("pkg/a.py", sure=0.6)
    assert {candidate.evidence for _, candidate in file.chosen(0.8)} == {"syntax"}
    assert annotated(file.text, file.chosen(0.91), file.below) == SOURCE


def test_a_name_that_no_one_can_import_is_no_candidate() -> None:
    file = planned("pkg/a.py")
    found = {item.asked.name: item.candidates for item in file.missing}
    assert [candidate.text for candidate in found["unknown"]] == ["bytes"]
    assert found["things"][0] == Candidate("Iterable", 0.95, "model", "collections.abc")


ATTRIBUTES = """\
class Plain:
    count = 0
    name: str = ""
    both = left = 1

    def __init__(self, size, *, other=None):
        self.size = size
        self.seen = set(); self.best = None
        self.table = {}
        self.pair = 1, 2
        self.filled = [1]
        if size:
            self.path = f"{size}"  # kept
        else:
            self.path = "none"
        self.changed = 1
        self.helper = Helper()

    def run(self, lines):
        self.best = Helper()
        self.changed = "x"
        for self.line in lines:
            self.late = 3


class Helper(Plain):
    member = 1
"""


def test_attributes_whose_type_is_plain() -> None:
    file = LANGUAGE.parse(ATTRIBUTES, "a.py")
    tree = LANGUAGE.tree(Path("nowhere"), ["a.py"])
    tree.add("a.py", file)
    asked = tree.open_attributes("a.py", file)
    text = annotated(ATTRIBUTES, _chosen(missing("a.py", ATTRIBUTES, tree, asked, [], 0.9, 0.93)), "a.py")
    changed = [line.strip() for line in text.splitlines() if line not in ATTRIBUTES.splitlines()]
    assert changed == [
        "count: int = 0",
        "self.seen: set = set(); self.best: Helper | None = None",
        "self.table: dict = {}",
        'self.path: str = f"{size}"  # kept',
        "self.helper: Helper = Helper()",
    ]
    # A base may make of an annotated name a field or a member: what Helper holds stays as it is.
    assert text.endswith("    member = 1\n")
    assert {(item.head.name, item.optional) for item in asked if item.optional} == {("a.Plain.best", True)}
    compile(text, "a.py", "exec")


def _chosen(found: list[Missing]) -> list[tuple[Missing, Candidate]]:
    return [(item, item.candidates[0]) for item in found if item.candidates]


def test_names_that_mean_something_else_are_no_candidates() -> None:
    file = planned("pkg/c.py")
    found = {item.asked.name: [candidate.text for candidate in item.candidates] for item in file.missing}
    # A class within a class cannot be imported; what the module calls frozenset is not the built-in one.
    assert (found["innen"], found["menge"]) == (["bytes"], ["bytes"])
    text = annotated(file.text, file.chosen(0.8), file.below)
    assert "größe: int | None = None" in text
    assert "reader: int)" in text


def test_what_is_just_sure_enough_is_written() -> None:
    file = planned("pkg/a.py", sure=0.8)
    assert {candidate.evidence for _, candidate in file.chosen(0.8)} == {"syntax", "model"}


def test_what_is_annotated_stays_even_where_it_is_asked_for() -> None:
    text = "def f(a: int) -> int:\n    return a\n"
    asked = [
        Open(End("m.f.a", "parameter"), "has_type", "a", 6, 7),
        Open(End("m.f", "function"), "returns", "f", 4, 5),
    ]
    chosen = [
        (Missing(item, 1, item.start, False, ()), Candidate("str", 1.0, "model", "pathlib")) for item in asked
    ]
    assert text in annotated(text, chosen, "m.py")


def test_a_stub_holds_signatures_alone() -> None:
    file = planned("pkg/a.py")
    text = stub(annotated(file.text, file.chosen(0.8), file.below))
    tree = ast.parse(text)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert len(bodies) == 3
    assert all(len(body) == 1 and ast.unparse(body[0]) == "..." for body in bodies)
    assert "mode: str | None" in text


CLASSES = """\
from os import path
__all__ = ["A"]
__all__ += path.__all__
total = 0
total += 1


class A:
    \"\"\"Doc.\"\"\"
    size = 1

    def __init__(this, size, other):
        this.size = size
        this.best: int | None = None
        this.left, (this.right, other.none) = other
        def inner(this):
            this.none = 1

    @property
    def name(self):
        self._name = ""
        self.name = 1
        self.best = 2
        with other as self.file:
            for self.line in self.file:
                pass

    @staticmethod
    def make(none):
        none.none = 1


class Empty:
    def run(self): self.left = 1
"""


def test_a_stub_holds_what_methods_assign_and_all_of_the_exports() -> None:
    text = stub(CLASSES)
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    held = [[ast.unparse(item) for item in node.body if isinstance(item, ast.AnnAssign)] for node in classes]
    unknown = [f"{name}: Incomplete" for name in ("left", "right", "_name", "file", "line")]
    assert held == [["best: int | None", *unknown], ["left: Incomplete"]]
    assert "from _typeshed import Incomplete\n" in text
    assert "__all__ += path.__all__\n" in text
    assert "total +=" not in text
    assert "Incomplete" not in stub("class A:\n    def __init__(self):\n        self.x: int = 1\n")


@pytest.mark.parametrize(
    "head", ["@dataclass(slots=True)\nclass A", "@attrs.define\nclass A", "class A(BaseModel)"]
)
def test_an_attribute_is_no_field_of_a_class_that_makes_its_own_constructor(head: str) -> None:
    text = stub(f"{head}:\n    start: int\n    def __post_init__(self) -> None:\n        self.length = 1\n")
    assert "start: int" in text
    assert "length" not in text


def test_none_within_a_type_is_no_none() -> None:
    assert [says_none(text) for text in ("int | None", "None", "Optional[int]", "A | B[int] | None")] == [
        True
    ] * 4
    assert [says_none(text) for text in ("list[None]", "tuple[Path, None]", "int", "NoneType", "int |")] == [
        False
    ] * 5
    assert says_none("int | None |")


def test_the_command_from_diff_to_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "code"
    place.mkdir()
    (place / "a.py").write_text(SOURCE, encoding="utf-8")
    (place / "broken.py").write_text("def f(:\n", encoding="utf-8")
    options = ["--workers", "1", "--beams", "1", "--quiet"]
    assert main(["kg", "annotate", str(place), "--at-least", "0.5", *options]) == 9
    out, err = capsys.readouterr()
    assert "+    def __init__(self, path: str" in out
    assert "broken.py" in err
    assert (place / "a.py").read_text(encoding="utf-8") == SOURCE
    assert main(["kg", "annotate", str(place), "--at-least", "0.5", "--json", *options]) == 9
    listed = json.loads(capsys.readouterr().out)
    assert {item["what"] for file in listed for item in file["annotations"]} == {"parameter", "return"}
    # What is written is the candidate and, there, "| None".
    assert [item["name"] for file in listed for item in file["annotations"] if item["optional"]] == [
        "a.Reader.__init__.mode"
    ]
    assert (
        main(
            ["kg", "annotate", str(place), "--at-least", "0.5", "--stubs", str(tmp_path / "stubs"), *options]
        )
        == 9
    )
    assert "class Reader:" in (tmp_path / "stubs" / "a.pyi").read_text(encoding="utf-8")
    assert main(["kg", "annotate", str(place), "--at-least", "0.5", "--write", *options]) == 9
    assert "path: str" in (place / "a.py").read_text(encoding="utf-8")


def plainly(text: str, name: str = "m.py") -> Annotated:
    """A file with what is plain of it."""
    tree = LANGUAGE.tree(Path("nowhere"), [name])
    parsed = LANGUAGE.parse(text, name)
    tree.add(name, parsed)
    found = missing(name, text, tree, tree.open_questions(name, parsed), [], 0.9)
    return Annotated(Path(name), name, text, found)


FEEDS = """\
import os
\f
\fdef first(a):
    return 1

\f@wraps # form feed
 \f\fdef second(a): return {}
class A:
\f    def third(self):
    \f        return "\\
\fx"
TEXT = '''
\fdef none(): pass
'''
x = \\
\fos
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_form_feeds_stay_and_move_no_annotation(end: str) -> None:
    text = FEEDS.replace("\n", end)
    expected = text.replace("first(a):", "first(a) -> int:").replace("second(a):", "second(a) -> dict:")
    expected = expected.replace("third(self):", "third(self) -> str:")
    assert annotated(text, plainly(text).chosen(0.8), "m.py") == expected


def test_what_finds_no_place_is_listed_not_counted() -> None:
    file = plainly("def f(a): return 1\n")
    file.missing = [replace(item, column=0) for item in file.missing]
    failed: list[tuple[str, str]] = []
    assert annotated_texts(Findings([file]), 0.8, failed) == []
    assert failed == [("m.py", "cannot be rewritten: no place is found for 1 annotation")]


@pytest.mark.parametrize(
    ("encoding", "end"),
    [("utf-8", "\n"), ("utf-8", ""), ("utf-8", "\r\n"), ("utf-8-sig", "\n"), ("iso-8859-1", "\n")],
)
def test_the_patch_applies(
    encoding: str,
    end: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    text = f"# coding: {encoding.removesuffix('-sig')}\nTEXT = 'gr\xfcn\x85'\n\f\n\n"
    text += "\fdef f(a):\n    return 'gr\xfcn\x1c'"
    text = text.replace("\n", end or "\n") + end
    (tmp_path / "m.py").write_bytes(text.encode(encoding))
    monkeypatch.chdir(tmp_path)
    assert main(["kg", "annotate", "m.py", "--workers", "1", "--beams", "1", "--quiet"]) == 0
    patch = capfdbinary.readouterr().out
    subprocess.run(["git", "apply", "-"], input=patch, check=True, env={**os.environ, "GIT_DIR": "none"})
    written = (tmp_path / "m.py").read_bytes().decode(encoding)
    assert written.replace(" -> str:", ":").replace("(a: str)", "(a)") == text
    assert "-> str:" in written


def test_a_checker_takes_back_what_it_refuses_and_tries_the_next(tmp_path: Path) -> None:
    text = "def half(number):\n    return number / 2\n\n\nhalf(3)\n\n\ndef shout(word):\n    return word.upper()\n"
    text += "\n\nwrong: int = ''\n"  # an error that was there before is nobody's fault
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    tree = LANGUAGE.tree(tmp_path, ["a.py"])
    file = LANGUAGE.parse(text, "a.py")
    tree.add("a.py", file)
    asked = tree.open_questions("a.py", file)
    guesses = {"number": (("bytes", 0.9), ("float", 0.85)), "word": (("str", 0.9),)}
    inferred = [Inferred(item, guesses[item.name], (0, 1)) for item in asked if item.name in guesses]
    found = Findings(
        [Annotated(tmp_path / "a.py", "a.py", text, missing("a.py", text, tree, asked, inferred, 0.9))]
    )
    checked(found, tmp_path, "mypy", 0.8)
    chosen = {item.asked.name: best.text for item, best in found.files[0].chosen(0.8)}
    assert chosen == {"number": "float", "word": "str"}
