"""Extraction against symbols: data sets of any processors, rows of some builds or none."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("lief")

from weft.bench.bcsd.extraction import hostile
from weft.bench.bcsd.extraction.known import symbol_rows

FILES = Path(__file__).parents[2] / "bcsd" / "files"


def test_rows_are_of_the_processors_that_were_built(tmp_path: Path) -> None:
    for build, file in (
        ("clang-O2-i386", "clang-O2-i386"),
        ("clang-O2-x86_64", "clang-O2-x86_64.so"),
    ):
        folder = tmp_path / "builds" / "zlib" / build
        folder.mkdir(parents=True)
        for name in ("library.so", "stripped.so"):
            shutil.copy(FILES / file, folder / name)
    rows = symbol_rows(tmp_path)
    stripped = {
        row.variant.split(",")[0]: row.target for row in rows if row.name == "functions found, stripped"
    }
    assert stripped == {"i386": None, "x86_64": 0.99}
    assert all(row.baseline for row in rows)


def test_a_data_set_of_other_packages_has_no_rows(tmp_path: Path) -> None:
    assert symbol_rows(tmp_path) == []


def test_reasons_are_told_beside_the_rows(capsys: pytest.CaptureFixture[str]) -> None:
    campaign = hostile.Campaign(2, 1, Counter({"is cut off": 1}), [], [], [], 0.5)
    assert len(hostile._rows("", campaign)) == 4
    assert capsys.readouterr() == ("", "     1  is cut off\n")
