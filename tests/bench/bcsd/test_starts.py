"""The command for one processor: what it cannot measure is one error with the ways out."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("lief")

from weft.bench.bcsd.extraction import starts


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["x86-64"], "PACKAGE"),
        (["VAX", "libyaml"], "MIPS64, little-endian"),
        (["x86-64", "libyam"], "libyaml"),
        ([], "PROCESSOR"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        starts.main(arguments)
    said, errors = capsys.readouterr()
    assert (ended.value.code, said) == (2, "")
    assert told in errors.splitlines()[-1]


def test_a_compiler_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SystemExit):
        starts.main(["ARM, Thumb-2", "libyaml"])
    assert "arm-linux-gnueabihf-gcc" in capsys.readouterr().err.splitlines()[-1]
