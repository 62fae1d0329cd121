"""Long work says what it is at, once; short work and ``--quiet`` say nothing."""

import shutil
import sys

import pytest

from weft.cli.bcsd import patience
from weft.cli.main import main
from weft.cli.patience import say

SECOND = "clang-O2-x86_64.so"


@pytest.fixture
def asked(files, lexical_model, tmp_path):
    """The arguments of each command, and how it tells its files."""
    (tmp_path / "a.so").write_bytes((files / "gcc-O2-x86_64.so").read_bytes().ljust(1_340_000, b"\0"))
    shutil.copy(files / SECOND, tmp_path / "b.so")
    a, b = str(tmp_path / "a.so"), str(tmp_path / "b.so")
    model, both = ("--model", str(lexical_model)), f"{a} (1.3 MB) and {b} (0.0 MB)"
    index = str(tmp_path / "index")
    plain = (*model, "--lifter", "none")
    assert main(["bcsd", "index", "add", b, "--index", index, *plain, "--quiet"]) == 0
    return {
        "show": ((a,), f"reading {a} (1.3 MB)"),
        "explain": ((f"{a}:dense", f"{b}:dense", *model), f"comparing functions of {both}"),
        "extract": ((a, "-o", str(tmp_path / "t.parquet"), "--lifter", "none"), f"reading {a} (1.3 MB)"),
        "embed": ((a, "-o", str(tmp_path / "e.parquet"), *plain), f"embedding {a} (1.3 MB)"),
        "index add": ((a, "--index", index, *plain), f"embedding what is new of {a} (1.3 MB)"),
        "index update": (("--index", index, *plain), f"embedding what is new of {index}"),
        "search": ((a, "--index", index, *plain), f"looking up {a} (1.3 MB)"),
        "match": ((a, b, *model), f"pairing {both}"),
        "diff": ((a, b, *model, "--lifter", "none"), f"comparing {both}"),
    }


@pytest.mark.parametrize(
    "command",
    ["show", "match", "diff", "explain", "extract", "embed", "index add", "index update", "search"],
)
def test_what_takes_its_time_says_so_once(command, asked, monkeypatch, capsys):
    arguments, said = asked[command]
    line = f"weft bcsd {command}: {said}; large files take minutes"
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    asked_for = ["bcsd", *command.split(), *arguments]
    assert main(asked_for) == 0
    assert capsys.readouterr().err.splitlines().count(line) == 1
    assert main([*asked_for, "--quiet"]) == 0
    assert line not in capsys.readouterr().err
    monkeypatch.setattr(patience, "PATIENCE", 600.0)
    assert main(asked_for) == 0
    assert line not in capsys.readouterr().err


def test_libraries_are_looked_up_and_put_in_with_a_word(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    for quiet in ((), ("--quiet",)):
        # Neither place is there; the word comes before.
        assert main(["bcsd", "identify", str(tmp_path / "a"), "--index", str(tmp_path / "i"), *quiet]) == 3
        said = capsys.readouterr().err
        assert (f"weft bcsd identify: searching for the functions of {tmp_path}/a; large" in said) != bool(
            quiet
        )
        missing = str(tmp_path / "a.deb")
        assert main(["bcsd", "index", "build", missing, "--index", str(tmp_path / "i"), *quiet]) == 3
        said = capsys.readouterr().err
        assert (f"weft bcsd index build: embedding {missing}; large" in said) != bool(quiet)


def test_of_many_files_the_first_are_named(monkeypatch, capsys):
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    with patience.telling("at", [f"/none/{n}" for n in range(9)]):
        say(lambda: "at work")
    lines = capsys.readouterr().err.splitlines()
    assert "at /none/0, /none/1, /none/2 and 6 more; large files take minutes" in lines


def test_nobody_has_to_listen_and_the_file_may_be_gone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    place = tmp_path / "gone\n.so"
    with patience.telling("at", [str(place)]):
        say(lambda: "at work")
    lines = capsys.readouterr().err.splitlines()
    assert sorted(lines) == [rf"at {tmp_path}/gone\n.so; large files take minutes", "at work"]
    with (tmp_path / "closed").open("w") as closed:
        pass
    monkeypatch.setattr(sys, "stderr", closed)
    say(lambda: "at work")
