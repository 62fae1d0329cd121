"""Texts of a table that take long: said before they are read."""

from __future__ import annotations

import pytest

from weft.absa.read.table import TableRow
from weft.cli.absa.tables import ASKING, FINDING, telling_long


def test_the_first_long_texts_are_named_before_they_are_read(capsys: pytest.CaptureFixture[str]):
    cells = ["a" * 100_000, "a" * 100_001, None, *["b" * 200_000] * 9]
    rows = [TableRow(number, {"text": text}) for number, text in enumerate(cells, 1)]
    told = telling_long(rows, "text", "r.csv", "absa find", FINDING)
    assert [next(told).number, next(told).number] == [1, 2]
    err = capsys.readouterr().err
    assert err.startswith("weft absa find: r.csv row 2: a text of 100,001 characters, which takes its time")
    assert len(list(told)) == len(rows) - 2
    assert [line.split(":")[1] for line in capsys.readouterr().err.splitlines()] == [
        " r.csv row 4",
        " r.csv row 5",
    ]


@pytest.mark.parametrize("seconds", [FINDING, ASKING])
def test_how_long_it_takes_is_said_for_each_command(seconds: int, capsys: pytest.CaptureFixture[str]):
    list(telling_long([TableRow(1, {"text": "a" * 100_001})], "text", "r.csv", "absa find", seconds))
    assert f"about {seconds} seconds of a processor for each 100,000" in capsys.readouterr().err
    assert FINDING > 2 * ASKING
