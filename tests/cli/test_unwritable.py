"""Every command on a full disk: those that write are in the tables of their rooms, the others only print."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.absa.test_unwritable import WRITES as ABSA
from tests.bcsd.test_unwritable import WRITES as BCSD
from tests.kg.test_unwritable import WRITES as KG
from tests.unwritable import Writes, cases, full_disk, refused
from weft.cli.commands import walk
from weft.cli.main import main

BINARY = Path(__file__).parents[1] / "bcsd" / "files" / "clang-O2-x86_64.so"
SERVE = {"serve": [Writes("--token-file {out} --new-token me", old="tokens", only_full=True)]}
PRINTS = {
    "absa eval",
    "bcsd show",
    "bcsd index ls",
    "bcsd search",
    "bcsd identify",
    "bcsd dataset stats",
    "bcsd eval",
    "kg facts",
    "kg query",
    "kg ask",
    "kg compare",
    "kg moves",
    "models",
    "demo",
    "completion",
}
"""Commands that write nothing but what they print."""
ALIKE = {"bcsd index build": "bcsd index add"}
"""Commands that write by the same functions as another, and need what no test has at hand, such as packages."""


def test_every_command_is_in_a_table() -> None:
    tables = {"absa": ABSA, "bcsd": BCSD, "kg": KG, "": SERVE}
    written = {f"{tool} {name}".strip() for tool, table in tables.items() for name in table}
    commands = {" ".join(path) for path, _ in walk()}
    assert set(ALIKE.values()) <= written
    known = written | PRINTS | ALIKE.keys() | {"bench"}
    assert commands - known == set(), (
        "what writes belongs in its room's test_unwritable.py, the rest in PRINTS here"
    )
    assert known - commands == set(), "no such commands any more"
    assert not written & PRINTS


@pytest.fixture
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tokens") / "tokens"
    assert main(["serve", "--token-file", str(place), "--new-token", "another"]) == 0
    return place


@pytest.mark.parametrize(("name", "writes", "full"), cases(SERVE))
def test_an_output_that_cannot_be_written(
    name: str, writes: Writes, full: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    refused("", name, writes, full, request, tmp_path)


def test_a_benchmark_says_it_before_it_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "hostile", "-o", str(tmp_path)]) == 8
    assert "it is a folder" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["models"], ["completion", "bash"], ["bcsd", "show", str(BINARY)]])
def test_what_is_printed_to_a_full_disk(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with (tmp_path / "out").open("w") as output, full_disk():
        monkeypatch.setattr(sys, "stdout", output)
        assert main(arguments) == 8
    said = capsys.readouterr().err
    assert ("cannot be written: File too large" in said, said.count("\n")) == (True, 1)
