"""Units of Python files: exact offsets, and what is left out of the text."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import InputError
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.languages.python import LANGUAGE
from weft.kg.languages.python.units import SourceFile
from weft.kg.languages.unit import Unit

SOURCE = '''import os
import sys as system


@decorate(1)
def first(a: int, b: "dict[str, int]" = None, *args: str, key: list[int] = [], **kw: object) -> "list[int]":
    """One line.

    More lines.
    """
    x: int = 3
    def inner(c: str) -> None:
        return c
    return x


class Thing(Base):
    """A thing.

    More.
    """

    name: str = "é"

    def one(self, v: int) -> int:
        return v

    class Inside:
        def two(self): return 2

if system:
    async def third(): ...
'''


def units(source: str) -> dict[str, Unit]:
    return {unit.name: unit for unit in SourceFile(source).units()}


@pytest.mark.parametrize(
    "source",
    [
        "async def f(x): ...",
        "async  def d(): ...",
        "def µ(x): ...",
        "class c: ...",
        "def e(): ...",
        "@a\ndef n(): ...",
    ],
)
def test_a_name_stands_behind_its_keyword(source: str) -> None:
    file = SourceFile(source)
    node = file.tree.body[0]
    start, end = file.name_of(node)
    assert source[:start].endswith(("def ", "class "))
    assert source[start:end].isidentifier()
    assert not source[end].isalnum()
    (unit,) = [unit for unit in file.units() if unit.kind != "module"]
    first, last = unit.name_span
    assert unit.text[first:last].endswith(source[start:end])


def test_kinds_and_names() -> None:
    found = [(unit.kind, unit.name) for unit in SourceFile(SOURCE).units()]
    assert found == [
        ("module", ""),
        ("function", "first"),
        ("class", "Thing"),
        ("function", "Thing.one"),
        ("class", "Thing.Inside"),
        ("function", "Thing.Inside.two"),
        ("function", "third"),
    ]


def test_annotations_and_later_docstring_lines_are_cut() -> None:
    text = units(SOURCE)["first"].text
    assert text == (
        "@decorate(1)\ndef first(a, b = None, *args, key = [], **kw):\n"
        '    """One line."""\n    x = 3\n    def inner(c):\n        return c\n    return x'
    )


def test_a_class_is_a_skeleton() -> None:
    text = units(SOURCE)["Thing"].text
    assert "def one(self, v):\n" in text
    assert 'name = "é"' in text
    assert "return v" not in text
    assert "Inside" not in text
    assert "More." not in text


def test_methods_are_dedented() -> None:
    assert units(SOURCE)["Thing.one"].text == "def one(self, v):\n    return v"


def test_the_module_holds_what_functions_and_classes_do_not() -> None:
    text = units(SOURCE)[""].text
    assert text.startswith("import os\nimport sys as system\n")
    assert "first" not in text
    assert "Thing" not in text


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_offsets_hold_for_every_line_end(ends: str) -> None:
    source = SOURCE.replace("\n", ends)
    file = SourceFile(source)
    for unit in file.units():
        assert unit.text == "".join(source[start:end] for start, end in unit.segments)
        if unit.kind != "module":
            start, end = unit.name_span
            assert unit.text[start:end].split()[-1] == unit.name.split(".")[-1]


def test_every_token_of_real_files_is_cut_out_exactly() -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = {
        name: LANGUAGE.decode((library / name).read_bytes(), name)
        for name in ("heapq.py", "enum.py", "textwrap.py")
    }
    tokenizer = CodeTokenizer.train(texts.values(), 600)
    checked = 0
    for name, source in texts.items():
        for unit in SourceFile(source, name).units():
            tokens = tokenizer.encode(unit.text)
            spans = unit.source_offsets(tokens.starts, tokens.ends)
            for start, end, (begin, stop) in zip(tokens.starts, tokens.ends, spans, strict=True):
                # A token never spans a cut, except for a run of line breaks around a dropped line.
                if unit.text[start:end].strip():
                    assert source[begin:stop] == unit.text[start:end]
                    checked += 1
            assert all(0 <= place < len(unit.text) for place in unit.breaks)
    assert checked > 10_000


NAMES = st.text("abcéλ_", min_size=1, max_size=5).filter(str.isidentifier)


@given(NAMES, NAMES, st.text("aé\U0001f40d\u2028 \x0c", max_size=8))
@settings(max_examples=60, deadline=None)
def test_offsets_on_unicode_of_all_kinds(name: str, parameter: str, comment: str) -> None:
    source = (
        f"# {comment}\nclass C:\n  s = '{comment}'\n"
        f"  def {name}(self, {parameter}: int = 1):  # {comment}\n    return {parameter}\n"
    )
    file = SourceFile(source)
    for unit in file.units():
        assert unit.text == "".join(source[start:end] for start, end in unit.segments)
        starts = np.arange(len(unit.text))
        for begin, (first, last) in enumerate(unit.source_offsets(starts, starts + 1)):
            assert source[first:last] == unit.text[begin]
    assert f"def {name}(self, {parameter} = 1)" in units(source)[f"C.{name}"].text


@pytest.mark.parametrize("source", ["def f(:\n", "x = '\n", "\x00", "(" * 300])
def test_what_is_no_python_is_refused_with_its_name(source: str) -> None:
    with pytest.raises(InputError, match=r"broken\.py: not Python"):
        SourceFile(source, "broken.py")


def test_a_refusal_names_the_version_that_parses_and_the_line() -> None:
    with pytest.raises(
        InputError, match=rf"not Python 3\.{sys.version_info[1]} that .*: invalid syntax in line 2$"
    ):
        SourceFile("x = 1\ntype = = 2\n", "broken.py")


def test_a_refusal_without_words_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(text: str) -> None:
        raise MemoryError

    monkeypatch.setattr("ast.parse", full)
    with pytest.raises(InputError, match=r"not Python 3\.\d+ that can be parsed: MemoryError$"):
        SourceFile("x = 1\n", "broken.py")
