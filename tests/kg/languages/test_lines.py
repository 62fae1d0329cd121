"""Lines end as Python's do, whatever a file's line ends are."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.kg.annotate.plan import missing
from weft.kg.annotate.tree import Annotated
from weft.kg.annotate.write import annotated
from weft.kg.extraction.code import CodeCorpus
from weft.kg.languages.lines import Lines, line_around, line_of
from weft.kg.languages.python import LANGUAGE

SOURCE = "import os\n\n\ndef f(a, é=None):\n    return os.getcwd()\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_facts_have_the_line_that_states_them(tmp_path: Path, end: str) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(SOURCE.replace("\n", end).encode())
    corpus = CodeCorpus(path, "m.py", LANGUAGE)
    found = {
        (item.relation, item.tail): (item.line, item.sentence)
        for source in corpus
        for item in corpus.complete(source.document, [])
    }
    assert found["imports", "os"] == (1, "import os")
    assert found["has_parameter", "m.f.a"] == (4, "def f(a, é=None):")
    assert found["calls", "os.getcwd"] == (5, "return os.getcwd()")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_annotations_find_their_line(tmp_path: Path, end: str) -> None:
    # The first line keeps its end: of a file with \r alone libcst does not keep every line.
    text = f"x = 1{end}# \n\ndef f(ä=None, é=None):\n    return 1\n"
    tree = LANGUAGE.tree(tmp_path, ["m.py"])
    tree.add("m.py", LANGUAGE.parse(text, "m.py"))
    asked = tree.open_questions("m.py", LANGUAGE.parse(text, "m.py"))
    lacking = missing("m.py", text, tree, asked, [], 1.0)
    assert [(item.asked.name, item.line, item.column, item.optional) for item in lacking] == [
        ("f", 4, 4, False),
        ("ä", 4, 6, True),
        ("é", 4, 14, True),
    ]
    chosen = Annotated(tmp_path, "m.py", text, lacking).chosen(0.5)
    assert annotated(text, chosen, "m.py") == text.replace("):", ") -> int:")


def test_lines_equal_a_loop() -> None:
    text = "a\r\nbc\rd\n\n\r\r\n e\x0cf\x1d"
    starts, line = [0], 1
    for place, mark in enumerate(text):
        assert Lines(text).number(place) == line
        if text[place - 1 : place + 1] != "\r\n":
            assert line_of(text, place) == line
        if mark == "\n" or (mark == "\r" and text[place + 1 : place + 2] != "\n"):
            line += 1
            starts.append(place + 1)
    assert Lines(text).starts == starts
    assert line_around(text, 3, 4) == "bc"
    assert line_around("x" * 400, 200, 201) == "x" * 301
