"""Standard streams that are closed, full or read by nobody: quiet, and the exit code that fits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.cli.main import main

SPOKEN = [["--help"], ["--version"], ["models", "--help"], ["bcsd", "--help"], ["models"]]


def weft(arguments: list[str], stdout: int, redirections: str = "") -> tuple[int, str]:
    # Where nothing is buffered, nothing is left for the end of the process, either.
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", "weft", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=surroundings,
        timeout=240,
        check=False,
    )
    return done.returncode, done.stderr


def unread(arguments: list[str]) -> tuple[int, str]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return weft(arguments, writer)
    finally:
        os.close(writer)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("streams")
    (place / "a.txt").write_text("The Inn rises in Switzerland and flows through Austria.")
    command = ["kg", "extract", str(place / "a.txt"), "-o", str(place / "store"), "--workers", "1", "--quiet"]
    assert main(command) == 0
    return place / "store"


@pytest.mark.parametrize("arguments", [*SPOKEN, ["demo", "attention"]], ids=" ".join)
def test_a_reader_that_went_away_is_no_failure(arguments: list[str]) -> None:
    assert unread(arguments) == (0, "")


def test_a_reader_of_facts_that_went_away_is_no_failure(store: Path) -> None:
    assert unread(["kg", "show", str(store)]) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this machine has no such device")
@pytest.mark.parametrize("arguments", SPOKEN, ids=" ".join)
def test_a_full_disk_is_told_of_what_is_only_said(arguments: list[str]) -> None:
    code, said = weft(arguments, subprocess.DEVNULL, "> /dev/full")
    assert (code, said.count("\n")) == (8, 1)
    assert "the output: cannot be written: No space left on device" in said


@pytest.mark.parametrize("arguments", SPOKEN, ids=" ".join)
def test_an_output_that_is_closed_takes_what_is_said(arguments: list[str]) -> None:
    assert weft(arguments, subprocess.DEVNULL, ">&-") == (0, "")


def test_a_file_is_written_though_the_output_is_closed(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.nt"
    command = ["kg", "export", str(store), "--format", "ntriples", "-o", str(out)]
    assert weft(command, subprocess.DEVNULL, ">&-") == (0, "")
    assert out.read_text()


def test_an_input_that_is_closed_holds_nothing() -> None:
    code, said = weft(["absa", "predict", "-", "--aspect", "food"], subprocess.DEVNULL, "<&-")
    assert (code, said) == (3, "weft absa predict: standard input: holds no row\n")


def test_errors_may_be_closed_too() -> None:
    assert weft(["fly"], subprocess.DEVNULL, "<&- >&- 2>&-") == (2, "")
