"""Tables: aligned, and cut only where there is no room."""

from __future__ import annotations

from weft.cli.table import table

ROWS = [("a", 1, "x" * 40), ("long name", 100, "y")]


def test_columns_are_as_wide_as_what_they_hold():
    assert table(("name", ">n", "text"), ROWS, 100).splitlines() == [
        "name         n  text",
        "a            1  " + "x" * 40,
        "long name  100  y",
    ]


def test_only_the_widest_is_cut_and_only_where_it_must():
    lines = table(("name", ">n", "text"), ROWS, 40).splitlines()
    assert lines[1] == "a            1  " + "x" * 23 + "…"
    assert "long name" in lines[2]
    assert max(map(len, lines)) == 40
    assert "x" * 40 in table(("name", ">n", "text"), ROWS)  # no terminal here


def test_what_would_move_the_cursor_is_shown_as_what_it_is():
    assert table(("a",), [("x\ny\x1b[2J",)], 80).splitlines()[1] == "x\\ny\\x1b[2J"
    assert table(("a", "b"), []) == "a  b"
    # A mark without a width is part of a word in Persian.
    assert table(("a",), [("\u0645\u06cc\u200c\u0634",)], 80).splitlines()[1] == "\u0645\u06cc\u200c\u0634"
