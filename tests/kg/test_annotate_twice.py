"""The annotations of a real package: the same bytes with one worker and with two."""

from __future__ import annotations

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from weft.cli.main import main
from weft.kg.annotate.plan import Candidate, Missing
from weft.kg.annotate.rewrite import annotated_texts
from weft.kg.annotate.tree import Annotated, Findings
from weft.kg.languages.unit import End, Open

_PROGRESS = re.compile(rb"(?m)^\d+ of \d+ files?\n")
"""How far it is, said now and then."""


def test_two_runs_are_the_same_bytes_with_one_worker_and_with_two(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    found = find_spec("colorama")
    if found is None or found.origin is None:
        pytest.skip("colorama is not installed")
    package = tmp_path / "colorama"
    shutil.copytree(Path(found.origin).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    # Listed in the order of the files, whoever finds them out.
    (package / "a_broken.py").write_text("def f(:\n")
    (package / "zero.py").write_bytes(b"x = '\0'\n")
    printed = []
    for workers in ("1", "2"):
        for form in (("--json",), ()):
            assert main(["kg", "annotate", str(package), "--workers", workers, *form]) == 9
            said = capsysbinary.readouterr()
            printed.append((said.out, _PROGRESS.sub(b"", said.err)))
    assert printed[0] == printed[2]
    assert printed[1] == printed[3]
    assert len(printed[0][0]) > 10_000
    assert b"+    def write(self, text: str)" in printed[1][0]
    broken, zero = (printed[0][1].index(name) for name in (b"a_broken.py", b"zero.py"))
    assert broken < zero


@pytest.mark.parametrize("workers", [1, 2])
def test_what_cannot_be_written_is_listed_and_the_rest_goes_on(workers: int) -> None:
    def file(name: str, text: str, word: str, encoding: str = "utf-8") -> Annotated:
        asked = Open(End("m.f", "function"), "returns", "f", 4, 5)
        item = Missing(asked, 1, 4, False, (Candidate(word, 0.9, "model"), Candidate("int", 0.1, "model")))
        return Annotated(Path(name), name, text, [item], encoding)

    found = Findings(
        [
            file("a.py", "def f(): ...\n", "str"),
            file("b.py", "def f(:\n", "str"),
            file("c.py", "def f(): ...\n", "Größe", "ascii"),
            file("d.py", "def f(): ...\n", "bytes"),
        ]
    )
    failed: list[tuple[str, str]] = []
    texts = annotated_texts(found, 0.5, failed, workers)
    assert [(item.below, text) for item, text in texts] == [
        ("a.py", "def f() -> str: ...\n"),
        ("d.py", "def f() -> bytes: ...\n"),
    ]
    assert [name for name, _ in failed] == ["b.py", "c.py"]
    assert "cannot be rewritten" in failed[0][1]
    assert "cannot be written in ascii" in failed[1][1]


def test_json_says_what_would_be_written_and_what_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # libcst loses the white space before a last comment that is indented otherwise.
    (tmp_path / "a.py").write_text("def f():\n\treturn 1\n\n\n  # end\n")
    (tmp_path / "b.py").write_text("def f():\n\treturn 1\n")
    assert main(["kg", "annotate", str(tmp_path), "--json", "--workers", "1"]) == 9
    said = capsys.readouterr()
    written = {file["file"]: file["annotations"][0]["written"] for file in json.loads(said.out)}
    assert written == {"a.py": False, "b.py": True}
    assert "a.py: cannot be rewritten" in said.err
    assert "1 of 2 missing annotations" in said.err
