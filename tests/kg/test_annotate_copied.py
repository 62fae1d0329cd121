"""The copy of a tree that a checker looks at: what is written into it stays in it."""

from __future__ import annotations

import os
from pathlib import Path

from weft.cli.main import main
from weft.errors import PartialFailure
from weft.kg.annotate import check
from weft.kg.annotate.check import checked
from weft.kg.annotate.copied import copied
from weft.kg.annotate.tree import Annotated, Findings

TEXT = "def one():\n    return 1\n"


def test_what_a_link_leads_to_is_not_written(tmp_path: Path, monkeypatch) -> None:
    tree, mine = tmp_path / "tree", tmp_path / "mine.py"
    tree.mkdir()
    mine.write_text(TEXT)
    (tree / "a.py").symlink_to(mine)
    (tree / "loop").symlink_to(".")
    os.mkfifo(tree / "pipe")
    monkeypatch.setattr(check, "_mypy", lambda copy: (copy / "a.py").write_text("written") and [])
    checked(Findings([Annotated(tree / "a.py", "a.py", TEXT, [])]), tree, "mypy", 0.8)
    assert mine.read_text() == TEXT


def test_a_copy_has_links_and_files_and_may_be_written(tmp_path: Path) -> None:
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    (tree / "inner").mkdir(parents=True)
    (tree / ".git").mkdir()
    for name in ("a.py", "inner/b.py"):
        (tree / name).write_text(TEXT)
    (tree / "a.py").chmod(0o444)
    (tree / "c.py").symlink_to("a.py")
    os.mkfifo(tree / "pipe")
    copied(tree, copy, [(tree / "a.py", "a.py"), (tree / "c.py", "c.py")])
    assert sorted(path.name for path in copy.iterdir()) == ["a.py", "c.py", "inner"]
    assert not (copy / "c.py").is_symlink()
    assert (copy / "a.py").stat().st_mode & 0o200
    copied(tree / "a.py", tmp_path / "one", [(tree / "a.py", "a.py")])
    assert (tmp_path / "one" / "a.py").read_text() == TEXT


def test_a_stub_beside_its_source_is_not_written_over(tmp_path: Path, monkeypatch, capsys) -> None:
    for name, text in (("a.py", TEXT), ("b.py", TEXT), ("a.pyi", "# mine\n")):
        (tmp_path / name).write_text(text)
    files = [Annotated(tmp_path / name, name, TEXT, []) for name in ("a.py", "b.py")]
    monkeypatch.setattr("weft.kg.annotate.tree.find_missing", lambda *_, **__: Findings(files))
    monkeypatch.setattr(
        "weft.kg.annotate.rewrite.annotated_texts", lambda *_: [(file, TEXT) for file in files]
    )
    assert main(["kg", "annotate", str(tmp_path), "--stubs", str(tmp_path)]) == PartialFailure.exit_code
    assert "a.pyi: stands beside its source already" in capsys.readouterr().err
    assert (tmp_path / "a.pyi").read_text() == "# mine\n"
    assert "def one()" in (tmp_path / "b.pyi").read_text()
