"""Long work says what it is at, once; short work and ``--quiet`` say nothing."""

import shutil
import sys

import pytest

from weft.cli.bcsd import patience
from weft.cli.main import main

SECOND = "clang-O2-x86_64.so"


@pytest.fixture
def asked(files, lexical_model, tmp_path):
    """The arguments of each command, and how it tells its files."""
    (tmp_path / "a.so").write_bytes((files / "gcc-O2-x86_64.so").read_bytes().ljust(1_340_000, b"\0"))
    shutil.copy(files / SECOND, tmp_path / "b.so")
    a, b = str(tmp_path / "a.so"), str(tmp_path / "b.so")
    model, both = ("--model", str(lexical_model)), f"{a} (1.3 MB) and {b} (0.0 MB)"
    return {
        "show": ((a,), f"reading {a} (1.3 MB)"),
        "match": ((a, b, *model), f"pairing {both}"),
        "diff": ((a, b, *model, "--lifter", "none"), f"comparing {both}"),
    }


@pytest.mark.parametrize("command", ["show", "match", "diff"])
def test_what_takes_its_time_says_so_once(command, asked, monkeypatch, capsys):
    arguments, said = asked[command]
    line = f"weft bcsd {command}: {said}; large files take minutes"
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    assert main(["bcsd", command, *arguments]) == 0
    assert capsys.readouterr().err.splitlines().count(line) == 1
    if command != "show":
        assert main(["bcsd", command, *arguments, "--quiet"]) == 0
        assert line not in capsys.readouterr().err
    monkeypatch.setattr(patience, "PATIENCE", 600.0)
    assert main(["bcsd", command, *arguments]) == 0
    assert line not in capsys.readouterr().err


def test_nobody_has_to_listen_and_the_file_may_be_gone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    place = tmp_path / "gone\n.so"
    with patience.telling("at", [str(place)]):
        patience._tell("at", [str(place)])
    assert capsys.readouterr().err.splitlines()[0] == rf"at {tmp_path}/gone\n.so; large files take minutes"
    with (tmp_path / "closed").open("w") as closed:
        pass
    monkeypatch.setattr(sys, "stderr", closed)
    patience._tell("at", [str(place)])
